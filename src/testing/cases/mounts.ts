import assert from 'node:assert/strict'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConformanceCase } from '../case.ts'
import { failed, refused, succeeded } from '../expect.ts'

const refusesOnReadOnly = (
  title: string,
  act: 'write' | 'append' | 'mkdir' | 'remove' | 'rename',
): ConformanceCase => ({
  title,
  requires: ['mount.readonly'],
  async run({ scene }) {
    const { sandbox, host } = await scene('readonly')
    const { files } = sandbox
    const acts = {
      write: () => files.write('/reference/new.txt', 'x'),
      append: () => files.write('/reference/book.txt', 'x', { append: true }),
      mkdir: () => files.mkdir('/reference/dir'),
      remove: () => files.remove('/reference/book.txt'),
      rename: () => files.rename('/reference/book.txt', '/reference/other.txt'),
    }
    await refused('READ_ONLY', acts[act]())
    assert.deepEqual(
      (await readdir(host('/reference'))).filter((name) => name !== 'drop'),
      ['book.txt'],
    )
    assert.equal(await readFile(join(host('/reference'), 'book.txt'), 'utf8'), 'a book\n')
  },
})

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
    title: 'a read-only mount can be read by file actions and commands',
    requires: ['mount.readonly'],
    async run({ scene }) {
      const { sandbox } = await scene('readonly')
      assert.equal(await sandbox.files.read('/reference/book.txt'), 'a book\n')
      assert.equal(succeeded(await sandbox.commands.run(['cat', '/reference/book.txt'])), 'a book\n')
    },
  },
  refusesOnReadOnly('writing into a read-only mount is refused with READ_ONLY', 'write'),
  refusesOnReadOnly('appending in a read-only mount is refused with READ_ONLY', 'append'),
  refusesOnReadOnly('making a directory in a read-only mount is refused with READ_ONLY', 'mkdir'),
  refusesOnReadOnly('removing from a read-only mount is refused with READ_ONLY', 'remove'),
  refusesOnReadOnly('renaming in a read-only mount is refused with READ_ONLY', 'rename'),
  {
    title: 'a read-only mount is read-only for commands',
    requires: ['mount.readonly'],
    async run({ scene }) {
      const { sandbox, host } = await scene('readonly')
      for (const script of [
        'echo x > /reference/new',
        'echo x >> /reference/book.txt',
        'rm -f /reference/book.txt',
        'mkdir /reference/d',
        'chmod 777 /reference',
      ]) {
        failed(await sandbox.commands.run(script))
      }
      assert.equal(await readFile(join(host('/reference'), 'book.txt'), 'utf8'), 'a book\n')
    },
  },
  {
    title: 'a read-only mount inside a writable one is read-only, and its neighbours are not',
    requires: ['mount.readonly'],
    async run({ scene }) {
      const { sandbox } = await scene('readonly')
      failed(await sandbox.commands.run('echo x > /workspace/frozen/new'))
      succeeded(await sandbox.commands.run('echo x > /workspace/beside-frozen'))
    },
  },
  {
    title: 'a writable mount inside a read-only one is writable',
    requires: ['mount.readonly'],
    async run({ scene }) {
      const { sandbox, host } = await scene('readonly')
      succeeded(await sandbox.commands.run('echo dropped > /reference/drop/by-command'))
      await sandbox.files.write('/reference/drop/by-action', 'dropped')
      const names = await readdir(host('/reference/drop'))
      assert.ok(names.includes('by-action') && names.includes('by-command'), names.join(' '))
    },
  },
  {
    title: 'a vault can be listed',
    requires: ['mount.vault'],
    async run({ scene }) {
      const { sandbox } = await scene('vault')
      assert.deepEqual(
        (await sandbox.files.list('/vaults/keys')).entries.map((entry) => entry.name),
        ['token'],
      )
    },
  },
  {
    title: 'a vault can be neither read nor written by an action',
    requires: ['mount.vault'],
    async run({ scene }) {
      const { sandbox, host } = await scene('vault')
      await refused('VAULT', sandbox.files.read('/vaults/keys/token'))
      await refused('VAULT', sandbox.files.readBytes('/vaults/keys/token'))
      await refused('VAULT', sandbox.files.write('/vaults/keys/token', 'x'))
      await refused('VAULT', sandbox.files.mkdir('/vaults/keys/dir'))
      assert.equal(await readFile(join(host('/vaults/keys'), 'token'), 'utf8'), 'vault-content-7f3a\n')
    },
  },
  {
    title: 'a vault cannot be searched',
    requires: ['mount.vault'],
    async run({ scene }) {
      const { sandbox } = await scene('vault')
      await refused('VAULT', sandbox.files.grep('vault-content', { path: '/vaults/keys' }))
    },
  },
  {
    title: "a command sees a vault's names and not its contents",
    requires: ['mount.vault'],
    async run({ scene }) {
      const { sandbox } = await scene('vault')
      assert.equal(succeeded(await sandbox.commands.run('ls /vaults/keys')), 'token\n')
      const read = await sandbox.commands.run(
        'cat /vaults/keys/token; dd if=/vaults/keys/token; cp /vaults/keys/token /tmp/t && cat /tmp/t',
      )
      assert.ok(!read.stdout.includes('vault-content'), read.stdout)
      failed(await sandbox.commands.run('echo x > /vaults/keys/token'))
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
    title: 'a read-only mount is refused with POLICY_UNENFORCEABLE where the backend cannot hold it',
    lacks: ['mount.readonly'],
    async run({ create, directory }) {
      const mounts = [{ guestPath: '/workspace', hostPath: await directory(), mode: 'ro' as const }]
      await refused('POLICY_UNENFORCEABLE', create({ mounts }))
    },
  },
  {
    title: 'a vault is refused with POLICY_UNENFORCEABLE where the backend cannot hold it',
    lacks: ['mount.vault'],
    async run({ create, directory }) {
      const mounts = [{ guestPath: '/vaults/keys', hostPath: await directory(), mode: 'vault' as const }]
      await refused('POLICY_UNENFORCEABLE', create({ mounts }))
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
