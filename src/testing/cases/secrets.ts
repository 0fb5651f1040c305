import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sandbox } from '../../contract/sandbox.ts'
import type { ConformanceCase, Subject } from '../case.ts'
import { refused, succeeded } from '../expect.ts'

const value = 'conformance-value-5a1d'
/** Said so that no redaction knows it: every letter moved by thirteen. */
const moved = 'tr A-Za-z N-ZA-Mn-za-m'
const movedValue = 'pbasbeznapr-inyhr-5n1q'

const requires = ['secrets.scoped', 'mount.vault'] as const

async function vaulted({ create, directory }: Subject): Promise<Sandbox> {
  const keys = await directory()
  await writeFile(join(keys, 'token'), `${value}\n`)
  await writeFile(join(keys, 'other'), 'never-granted-to-anybody\n')
  const mounts = [
    { guestPath: '/workspace', hostPath: await directory() },
    { guestPath: '/vaults/keys', hostPath: keys, mode: 'vault' as const },
  ]
  return create({ mounts, settings: { secrets: ['keys/token'] } })
}

const asVariable = [{ name: 'keys/token', env: 'TOKEN' }]
const asFile = [{ name: 'keys/token', file: 'token' }]

export const secretCases: readonly ConformanceCase[] = [
  {
    title: 'a secret reaches the command that asks for it, as a variable or as a file',
    requires,
    async run(subject) {
      const sandbox = await vaulted(subject)
      const variable = await sandbox.commands.run(`printf %s "$TOKEN" | ${moved}`, { secrets: asVariable })
      assert.equal(succeeded(variable), movedValue)
      const file = await sandbox.commands.run(`${moved} < /run/secrets/token`, { secrets: asFile })
      assert.equal(succeeded(file), `${movedValue}\n`)
    },
  },
  {
    title: 'a file of a secret holds any bytes, and its command alone may read it',
    requires,
    async run(subject) {
      const keys = await subject.directory()
      await writeFile(join(keys, 'bytes'), Uint8Array.from([0, 255, 10, 39, 92, 13, 37, 128, 0, 10]))
      const mounts = [
        { guestPath: '/workspace', hostPath: await subject.directory() },
        { guestPath: '/vaults/keys', hostPath: keys, mode: 'vault' as const },
      ]
      const sandbox = await subject.create({ mounts, settings: { secrets: ['keys/bytes'] } })
      const secrets = [{ name: 'keys/bytes', file: 'b' }]
      const shown = await sandbox.commands.run('od -An -tu1 /run/secrets/b; stat -c %a /run/secrets/b', { secrets })
      assert.equal(succeeded(shown).replaceAll(/\s+/g, ' ').trim(), '0 255 10 39 92 13 37 128 0 10 400')
    },
  },
  {
    title: 'a command with a secret can have an input',
    requires,
    async run(subject) {
      const sandbox = await vaulted(subject)
      const secrets = [...asVariable, ...asFile]
      const told = await sandbox.commands.run(`cat; printf %s "$TOKEN" | ${moved}; test -r /run/secrets/token`, {
        secrets,
        stdin: 'read ',
      })
      assert.equal(succeeded(told), `read ${movedValue}`)
    },
  },
  {
    title: 'what a command is given as secrets is gone with it, and no other command of the sandbox can come by it',
    requires,
    async run(subject) {
      const sandbox = await vaulted(subject)
      const look = `{ env; cat /proc/[0-9]*/environ /run/secrets/* /tmp/*; } 2>/dev/null | ${moved}`
      const secrets = [...asVariable, ...asFile]
      const given = await sandbox.commands.run(`cp /run/secrets/token /tmp/; ${look}`, { secrets })
      assert.ok(given.stdout.includes(movedValue), 'the probe finds what is there')
      assert.ok(!(await sandbox.commands.run(look)).stdout.includes(movedValue))
      const [, beside] = await Promise.all([
        sandbox.commands.run('sleep 1', { secrets }),
        sandbox.commands.run(`sleep 0.3; ${look}`),
      ])
      assert.ok(!beside.stdout.includes(movedValue))
    },
  },
  {
    title: 'a value is redacted from output and streams, and from whatever reads it later',
    requires,
    async run(subject) {
      const sandbox = await vaulted(subject)
      const chunks: Uint8Array[] = []
      const said = await sandbox.commands.run(
        'echo "say $TOKEN"; printf "u:%s" "$TOKEN" | base64; echo "say $TOKEN" >&2; echo "$TOKEN" > left',
        { secrets: asVariable, onStdout: (chunk) => void chunks.push(Uint8Array.from(chunk)) },
      )
      const later = await sandbox.commands.run('cat left')
      const read = await sandbox.files.read('left')
      for (const text of [said.stdout, said.stderr, Buffer.concat(chunks).toString(), later.stdout, read]) {
        assert.ok(text.includes('[redacted:keys/token]'), text)
        assert.ok(!text.includes(value), text)
      }
      assert.ok(!said.stdout.includes(Buffer.from(value).toString('base64').slice(2, 20)))
    },
  },
  {
    title: 'a value that is cut by the end of a chunk is redacted all the same',
    requires,
    async run(subject) {
      const sandbox = await vaulted(subject)
      const inPieces = `for at in $(seq ${value.length}); do printf %s "$TOKEN" | cut -c$at | tr -d "\\n"; sleep 0.01; done`
      const chunks: Uint8Array[] = []
      const said = await sandbox.commands.run(`printf begin; ${inPieces}; printf end`, {
        secrets: asVariable,
        onStdout: (chunk) => void chunks.push(Uint8Array.from(chunk)),
      })
      assert.equal(succeeded(said), 'begin[redacted:keys/token]end')
      assert.equal(Buffer.concat(chunks).toString(), said.stdout)
    },
  },
  {
    title: 'a secret that policy does not grant is refused, and nothing runs',
    requires,
    async run(subject) {
      const sandbox = await vaulted(subject)
      await refused('POLICY_ESCALATION', sandbox.commands.run('touch ran', { secrets: ['keys/other'] }))
      await refused('POLICY_ESCALATION', sandbox.commands.run('touch ran', { secrets: [...asVariable, 'keys/none'] }))
      assert.equal(await sandbox.files.exists('ran'), false)
    },
  },
  {
    title: 'describe tells the names of vaults, and which of them policy grants',
    requires,
    async run(subject) {
      const sandbox = await vaulted(subject)
      const secrets = [
        { name: 'other', granted: false },
        { name: 'token', granted: true },
      ]
      assert.deepEqual(sandbox.describe().vaults, [
        { name: 'keys', guestPath: '/vaults/keys', source: 'directory', secrets },
      ])
      assert.ok(!JSON.stringify(sandbox.describe()).includes(value))
    },
  },
  {
    title: 'secrets are refused with POLICY_UNENFORCEABLE where the backend cannot keep them to one command',
    lacks: ['secrets.scoped'],
    async run({ create }) {
      await refused('POLICY_UNENFORCEABLE', create({ settings: { secrets: ['keys/token'] } }))
    },
  },
]
