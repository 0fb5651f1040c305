import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConformanceCase } from '../case.ts'
import { refused, succeeded } from '../expect.ts'

export const cwdCases: readonly ConformanceCase[] = [
  {
    title: 'a command starts in /workspace when nobody says otherwise',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      assert.equal(sandbox.describe().cwd, '/workspace')
      assert.equal(succeeded(await sandbox.commands.run('pwd')), '/workspace\n')
    },
  },
  {
    title: 'a command starts in the directory that it is given',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest } = await room(plain)
      assert.equal(succeeded(await plain.sandbox.commands.run(['pwd'], { cwd: guest })), `${guest}\n`)
    },
  },
  {
    title: "a relative directory joins the sandbox's own",
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest, host } = await room(plain)
      await mkdir(join(host, 'below'))
      const cwd = `${guest.replace('/workspace/', '')}/./below/../below`
      assert.equal(succeeded(await plain.sandbox.commands.run('pwd', { cwd })), `${guest}/below\n`)
    },
  },
  {
    title: 'a sandbox may have another starting directory',
    async run({ create, directory }) {
      const hostPath = await directory()
      await mkdir(join(hostPath, 'app'))
      const sandbox = await create({ mounts: [{ guestPath: '/workspace', hostPath }], cwd: '/workspace/app' })
      assert.equal(sandbox.describe().cwd, '/workspace/app')
      assert.equal(succeeded(await sandbox.commands.run('pwd')), '/workspace/app\n')
      await sandbox.files.write('near.txt', 'x')
      assert.equal(await sandbox.files.exists('/workspace/app/near.txt'), true)
    },
  },
  {
    title: 'a directory that does not exist is refused, never replaced in silence',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      await refused('NOT_FOUND', sandbox.commands.run('pwd', { cwd: '/workspace/no/such/place' }))
    },
  },
  {
    title: 'a starting directory outside every mount is refused',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      await refused('OUTSIDE_MOUNTS', sandbox.commands.run('pwd', { cwd: '/somewhere/else' }))
    },
  },
  {
    title: 'a starting directory that climbs out of its mount is refused',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      await refused('OUTSIDE_MOUNTS', sandbox.commands.run('pwd', { cwd: '/workspace/../../etc' }))
    },
  },
  {
    title: 'a starting directory that is a file is refused',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest, host } = await room(plain)
      await writeFile(join(host, 'file'), '')
      await refused('NOT_A_DIRECTORY', plain.sandbox.commands.run('pwd', { cwd: `${guest}/file` }))
    },
  },
  {
    title: "a starting directory that is a link is followed in the guest's own view",
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest, host } = await room(plain)
      await mkdir(join(host, 'real'))
      await symlink('real', join(host, 'link'))
      assert.equal(succeeded(await plain.sandbox.commands.run('pwd -P', { cwd: `${guest}/link` })), `${guest}/real\n`)
    },
  },
  {
    title: 'a starting directory behind a link that leaves the mounts shows nothing of the host',
    requires: ['filesystem.isolated'],
    async run({ scene, room, directory }) {
      const plain = await scene('plain')
      const { guest, host } = await room(plain)
      const outside = await directory()
      await writeFile(join(outside, 'seen'), '')
      await symlink(outside, join(host, 'out'))
      const seen = await plain.sandbox.commands.run('ls', { cwd: `${guest}/out` }).then(
        (result) => result.stdout,
        () => '',
      )
      assert.equal(seen, '')
    },
  },
  {
    title: 'an empty starting directory, or one with a NUL byte, is refused with INVALID_PATH',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      await refused('INVALID_PATH', sandbox.commands.run('pwd', { cwd: '' }))
      await refused('INVALID_PATH', sandbox.commands.run('pwd', { cwd: '/workspace/\0' }))
    },
  },
  {
    title: 'directory names with spaces, quotes and characters beyond ASCII are usable',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest, host } = await room(plain)
      const name = `it's "odd" $x ß [1]`
      await mkdir(join(host, name))
      assert.equal(
        succeeded(await plain.sandbox.commands.run(['pwd'], { cwd: `${guest}/${name}` })),
        `${guest}/${name}\n`,
      )
    },
  },
]
