import assert from 'node:assert/strict'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConformanceCase } from '../case.ts'
import { failed, refused, succeeded } from '../expect.ts'

const refusesOnReadOnly = (
  title: string,
  act: 'write' | 'append' | 'mkdir' | 'remove' | 'rename',
): ConformanceCase => ({
  title,
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

export const mountModeCases: readonly ConformanceCase[] = [
  {
    title: 'a read-only mount can be read by file actions and commands',
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
    title: 'where a read-only mount does not hold for commands, describe says so',
    lacks: ['mount.readonly'],
    async run({ scene }) {
      const { sandbox } = await scene('readonly')
      assert.ok(sandbox.describe().notEnforced.some(({ what }) => what === 'mount.readonly'))
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
]
