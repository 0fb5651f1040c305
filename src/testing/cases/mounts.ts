import assert from 'node:assert/strict'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConformanceCase } from '../case.ts'
import { failed, refused, succeeded } from '../expect.ts'

export const mountCases: readonly ConformanceCase[] = [
  {
    title: 'what a file action writes a command reads, and the other way round',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest } = await room(plain)
      await plain.sandbox.files.write(`${guest}/from-action.txt`, 'action\n')
      assert.equal(succeeded(await plain.sandbox.commands.run('cat from-action.txt', { cwd: guest })), 'action\n')
      succeeded(await plain.sandbox.commands.run('echo command > from-command.txt', { cwd: guest }))
      assert.equal(await plain.sandbox.files.read(`${guest}/from-command.txt`), 'command\n')
    },
  },
  {
    title: 'a mount is the host directory behind it',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest, host } = await room(plain)
      succeeded(await plain.sandbox.commands.run('echo made inside > made.txt', { cwd: guest }))
      assert.equal(await readFile(join(host, 'made.txt'), 'utf8'), 'made inside\n')
    },
  },
  {
    title: 'the longest prefix wins: a nested mount hides what its parent has there',
    async run({ scene }) {
      const { sandbox, host } = await scene('nested')
      await sandbox.files.write('/workspace/inner/deep.txt', 'nested')
      assert.equal(await readFile(join(host('/workspace/inner'), 'deep.txt'), 'utf8'), 'nested')
    },
  },
  {
    title: 'commands and file actions agree about a nested mount',
    async run({ scene }) {
      const { sandbox, host } = await scene('nested')
      succeeded(await sandbox.commands.run('echo by command > /workspace/inner/agree.txt'))
      assert.equal(await readFile(join(host('/workspace/inner'), 'agree.txt'), 'utf8'), 'by command\n')
      assert.equal(await sandbox.files.read('/workspace/inner/agree.txt'), 'by command\n')
    },
  },
  {
    title: 'a prefix ends at a segment: /mnt/skills is not a prefix of /mnt/skills-extra',
    async run({ scene }) {
      const { sandbox } = await scene('nested')
      assert.equal(await sandbox.files.read('/mnt/skills-extra/name.txt'), 'extra\n')
      assert.equal(
        succeeded(await sandbox.commands.run('cat /mnt/skills-extra/name.txt /mnt/skills/name.txt')),
        'extra\nskills\n',
      )
    },
  },
  {
    title: 'a nested mount appears as a directory in the listing of its parent',
    async run({ scene }) {
      const { sandbox } = await scene('nested')
      const { entries } = await sandbox.files.list('/workspace')
      assert.equal(entries.find(({ name }) => name === 'inner')?.kind, 'directory')
    },
  },
  {
    title: 'file access reaches exactly the mounts, by descriptor, and never leaves them',
    async run({ scene }) {
      const { files } = (await scene('plain')).sandbox
      for (const path of [
        '/etc/passwd',
        '/proc/self/environ',
        '/workspace/../etc/passwd',
        '../etc/passwd',
        '/workspacex',
      ]) {
        await refused('OUTSIDE_MOUNTS', files.readBytes(path))
      }
      await refused('OUTSIDE_MOUNTS', files.write('/etc/new', 'x'))
      await refused('OUTSIDE_MOUNTS', files.list('/etc'))
      await refused('OUTSIDE_MOUNTS', files.stat('/etc/passwd'))
    },
  },
  {
    title: 'a host directory that is not mounted cannot be reached by a command',
    requires: ['filesystem.isolated'],
    async run({ scene, directory }) {
      const { sandbox } = await scene('plain')
      const outside = await directory()
      await writeFile(join(outside, 'secret.txt'), 'unmounted-content-44aa')
      const result = await sandbox.commands.run(['cat', join(outside, 'secret.txt')])
      failed(result)
      assert.ok(!result.stdout.includes('unmounted-content'))
    },
  },
  {
    title: "the system's own directories cannot be written by a command",
    requires: ['filesystem.isolated'],
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      for (const target of ['/usr/glovebox-was-here', '/etc/glovebox-was-here', '/bin/glovebox-was-here']) {
        failed(await sandbox.commands.run(['touch', target]))
      }
    },
  },
  {
    title: '/tmp exists, can be written, and is not that of the host',
    requires: ['filesystem.isolated'],
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const result = await sandbox.commands.run('ls -A /tmp | wc -l; echo x > /tmp/x && cat /tmp/x')
      assert.equal(succeeded(result).split('\n')[1], 'x')
      assert.ok(!succeeded(await sandbox.commands.run('ls -A /tmp')).includes('gbx-host-side'))
    },
  },
  {
    title: 'two mounts at one guest path are refused with INVALID_INPUT',
    async run({ create, directory }) {
      const mounts = [
        { guestPath: '/workspace', hostPath: await directory() },
        { guestPath: '/workspace/', hostPath: await directory() },
      ]
      await refused('INVALID_INPUT', create({ mounts }))
    },
  },
  {
    title: 'a mount whose host directory does not exist is refused, and nothing is made',
    async run({ create, directory }) {
      const parent = await directory()
      const mounts = [{ guestPath: '/workspace', hostPath: join(parent, 'missing') }]
      await refused(['NOT_FOUND', 'INVALID_INPUT'], create({ mounts }))
      assert.deepEqual(await readdir(parent), [])
    },
  },
  {
    title: 'a relative guest path is refused as the place of a mount',
    async run({ create, directory }) {
      const mounts = [{ guestPath: 'workspace', hostPath: await directory() }]
      await refused(['INVALID_PATH', 'INVALID_INPUT'], create({ mounts }))
    },
  },
  {
    title: 'a mount over a directory that belongs to the system is refused',
    async run({ create, directory }) {
      for (const guestPath of ['/', '/proc', '/usr/share', '/etc']) {
        await refused('INVALID_INPUT', create({ mounts: [{ guestPath, hostPath: await directory() }] }))
      }
    },
  },
]
