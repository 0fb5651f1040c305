import assert from 'node:assert/strict'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConformanceCase } from '../case.ts'
import { refused, succeeded } from '../expect.ts'

export const provisionCases: readonly ConformanceCase[] = [
  {
    title: 'provision adds and removes mounts, for commands and for actions, and describe tells the truth',
    async run({ create, directory }) {
      const [workspace, data] = [await directory(), await directory()]
      await writeFile(join(data, 'here.txt'), 'from the mount\n')
      const sandbox = await create({ mounts: [{ guestPath: '/workspace', hostPath: workspace }] })
      succeeded(await sandbox.commands.run('echo kept > kept.txt; echo home > "$HOME/kept.txt"'))
      await sandbox.provision({ mounts: { add: [{ guestPath: '/data', hostPath: data, mode: 'ro' }] } })
      const modes = (): unknown => sandbox.describe().mounts.map(({ guestPath, mode }) => `${guestPath} ${mode}`)
      assert.deepEqual(modes(), ['/workspace rw', '/data ro'])
      assert.equal(succeeded(await sandbox.commands.run('cat /data/here.txt kept.txt ~/kept.txt')), kept)
      assert.equal(await sandbox.files.read('/data/here.txt'), 'from the mount\n')
      await refused('READ_ONLY', sandbox.files.write('/data/new.txt', 'x'))
      await sandbox.provision({ mounts: { remove: ['/data'] } })
      assert.deepEqual(modes(), ['/workspace rw'])
      await refused('OUTSIDE_MOUNTS', sandbox.files.read('/data/here.txt'))
      assert.equal((await sandbox.commands.run('cat /data/here.txt')).exitCode, 1)
      assert.equal(await sandbox.files.read('kept.txt'), 'kept\n')
    },
  },
  {
    title:
      'provision changes mounts and vaults between commands, wholly or not at all; while one runs it is refused with BUSY',
    async run({ create, directory }) {
      const sandbox = await create()
      const hostPath = await directory()
      const add = [{ guestPath: '/data', hostPath }]
      let begin = (): void => {}
      const begun = new Promise<void>((resolve) => (begin = resolve))
      const running = sandbox.commands.run('echo begun; while [ ! -e go ]; do sleep 0.02; done', {
        onStdout: () => begin(),
      })
      await begun
      await refused('BUSY', sandbox.provision({ mounts: { add } }))
      await sandbox.files.write('go', '')
      await running
      const half = { mounts: { add: [...add, { guestPath: '/more', hostPath: join(hostPath, 'missing') }] } }
      await refused('NOT_FOUND', sandbox.provision(half))
      await refused('NOT_FOUND', sandbox.provision({ mounts: { add, remove: ['/nothing'] } }))
      await refused('ALREADY_EXISTS', sandbox.provision({ mounts: { add: [...add, ...add] } }))
      await refused('INVALID_INPUT', sandbox.provision({ mounts: { remove: ['/workspace'] } }))
      assert.deepEqual(sandbox.describe().mounts, [{ guestPath: '/workspace', mode: 'rw' }])
      succeeded(await sandbox.commands.run('echo as before'))
      await sandbox.provision({ mounts: { add } })
      assert.equal(sandbox.describe().mounts.length, 2)
    },
  },
  {
    title: 'what is provisioned twenty times leaves nothing behind',
    async run({ create, directory }) {
      const [workspace, data] = [await directory(), await directory()]
      await mkdir(join(workspace, 'src'))
      const sandbox = await create({ mounts: [{ guestPath: '/workspace', hostPath: workspace }] })
      for (let round = 0; round < 10; round += 1) {
        await sandbox.provision({ mounts: { add: [{ guestPath: '/data', hostPath: data }] } })
        await sandbox.provision({ mounts: { remove: ['/data'] } })
      }
      succeeded(await sandbox.commands.run('touch made'))
      await sandbox.kill()
      const left = (await readdir(workspace)).filter((name) => name !== '.glovebox')
      assert.deepEqual(left.toSorted(), ['made', 'src'])
      assert.deepEqual(await readdir(data), [])
    },
  },
  {
    title: 'a vault that is provisioned has its names inside, and gives its values from then on',
    requires: ['secrets.scoped', 'mount.vault'],
    async run({ create, directory }) {
      const keys = await directory()
      await writeFile(join(keys, 'token'), 'provisioned-value\n')
      const sandbox = await create({ settings: { secrets: ['keys/token'] } })
      const secrets = ['keys/token']
      await refused('NOT_FOUND', sandbox.commands.run('true', { secrets }))
      await sandbox.provision({ vaults: { add: { keys: { directory: keys } } } })
      assert.deepEqual(
        sandbox.describe().vaults.map(({ name }) => name),
        ['keys'],
      )
      assert.equal(succeeded(await sandbox.commands.run('ls /vaults/keys; echo ${#token}', { secrets })), 'token\n17\n')
      await sandbox.provision({ vaults: { remove: ['keys'] } })
      assert.deepEqual(sandbox.describe().vaults, [])
      await refused('NOT_FOUND', sandbox.commands.run('true', { secrets }))
      // What was handed out stays out of sight.
      assert.equal(succeeded(await sandbox.commands.run('echo provisioned-"value"')), '[redacted:keys/token]\n')
    },
  },
]

const kept = 'from the mount\nkept\nhome\n'
