import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConformanceCase } from '../case.ts'
import { heartbeat, isStill, refused, succeeded, waitForBeat } from '../expect.ts'

export const killCases: readonly ConformanceCase[] = [
  {
    title: 'kill ends everything inside and is idempotent; afterwards every call is refused with SANDBOX_GONE',
    async run({ create, directory }) {
      const hostPath = await directory()
      const sandbox = await create({ mounts: [{ guestPath: '/workspace', hostPath }] })
      const running = sandbox.commands.run(heartbeat('beat')).catch(() => undefined)
      await waitForBeat(join(hostPath, 'beat'))
      await sandbox.kill()
      await sandbox.kill()
      await running
      await isStill(join(hostPath, 'beat'))
      await refused('SANDBOX_GONE', sandbox.commands.run(['true']))
      await refused('SANDBOX_GONE', sandbox.files.read('/workspace/beat'))
      await refused('SANDBOX_GONE', sandbox.files.write('/workspace/new', 'x'))
      await refused('SANDBOX_GONE', sandbox.files.list())
      await refused('SANDBOX_GONE', sandbox.execute('stat', { path: '/workspace' }))
      await assert.rejects(access(join(hostPath, 'new')))
    },
  },
  {
    title: 'a command that runs while its sandbox is killed ends, and never as a success',
    async run({ create }) {
      const sandbox = await create()
      let begun = (): void => {}
      const beginning = new Promise<void>((resolve) => (begun = resolve))
      const running = sandbox.commands.run('echo begun; sleep 20', { onStdout: () => begun() })
      await beginning
      await sandbox.kill()
      const outcome = await running.then(
        (result) => result.ended,
        (error: { code?: string }) => error.code,
      )
      assert.notDeepEqual(outcome, { by: 'exit', code: 0 })
      assert.notEqual(outcome, undefined)
    },
  },
  {
    title: 'two calls of kill at once both succeed',
    async run({ create }) {
      const sandbox = await create()
      await Promise.all([sandbox.kill(), sandbox.kill()])
      await refused('SANDBOX_GONE', sandbox.commands.run(['true']))
    },
  },
  {
    title: 'await using kills the sandbox at the end of its block',
    async run({ backend, create }) {
      const sandbox = await create()
      assert.ok((await backend.list()).some(({ id }) => id === sandbox.id))
      await sandbox[Symbol.asyncDispose]()
      assert.ok(!(await backend.list()).some(({ id }) => id === sandbox.id))
    },
  },
  {
    title: 'killing one sandbox leaves another over the same directory alone',
    async run({ create, directory }) {
      const mounts = [{ guestPath: '/workspace', hostPath: await directory() }]
      const one = await create({ mounts })
      const other = await create({ mounts })
      await one.kill()
      await other.files.write('/workspace/file', 'still here')
      assert.equal(succeeded(await other.commands.run('cat file')), 'still here')
    },
  },
]
