import assert from 'node:assert/strict'
import type { Sandbox } from '../../contract/sandbox.ts'
import type { ConformanceCase } from '../case.ts'
import { failed, hidesTheHost, refused, succeeded } from '../expect.ts'

const pathOf = (sandbox: Sandbox): string => {
  const { catalog } = sandbox.describe()
  assert.ok(catalog !== null, 'describe names no catalog')
  return catalog.guestPath
}

const lines = (text: string): readonly Record<string, unknown>[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

export const catalogCases: readonly ConformanceCase[] = [
  {
    title: 'a command finds the catalog where describe says, with every file that its index names',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const place = pathOf(sandbox)
      const index = JSON.parse(succeeded(await sandbox.commands.run(['cat', `${place}/index.json`]))) as {
        readonly sandboxId: string
        readonly files: readonly { readonly path: string }[]
      }
      assert.equal(index.sandboxId, sandbox.id)
      const files = index.files.map(({ path }) => `${place}/${path}`) as [string, ...string[]]
      assert.ok(files.length > 10)
      succeeded(await sandbox.commands.run(['cat', '--', ...files]))
    },
  },
  {
    title: 'a command that names the catalog finds in it all that came before',
    async run({ create }) {
      const sandbox = await create()
      const place = pathOf(sandbox)
      for (let number = 1; number <= 3; number += 1) {
        await sandbox.commands.run(`echo said ${number}; exit ${number}`)
        const history = lines(succeeded(await sandbox.commands.run(['cat', `${place}/now/history.jsonl`])))
        const codes = history.filter(({ about }) => String(about).startsWith('echo')).map((deed) => deed['exitCode'])
        assert.deepEqual(codes, [1, 2, 3].slice(0, number))
      }
      await sandbox.commands.run('echo the last word')
      assert.equal(succeeded(await sandbox.commands.run(['cat', `${place}/now/stdout`])), 'the last word\n')
    },
  },
  {
    title: 'the catalog is current within a second, whoever asks',
    async run({ create }) {
      const sandbox = await create()
      const place = pathOf(sandbox)
      await sandbox.commands.run(['sh', '-c', 'exit 41'])
      await new Promise((resolve) => setTimeout(resolve, 1000))
      // The text does not name it.
      const file = '"$PLACE/now/outcome.json"'
      // On a busy machine the second is longer, for it as for us.
      const patiently = `for i in $(seq 100); do grep -q 41 ${file} && break; sleep 0.1; done; cat ${file}`
      const told = succeeded(await sandbox.commands.run(patiently, { env: { PLACE: place } }))
      assert.match(told, /41/)
    },
  },
  {
    title: 'a command that reads the catalog while others run never sees half a file',
    async run({ create }) {
      const sandbox = await create()
      const file = `${pathOf(sandbox)}/now/outcome.json`
      const reading = sandbox.commands.run(`for i in $(seq 150); do tail -n 1 ${file}; done`, { timeoutMs: 30_000 })
      for (let count = 0; count < 20; count += 1) await sandbox.commands.run(['true', file])
      const ends = succeeded(await reading)
      assert.equal(ends, '}\n'.repeat(150))
    },
  },
  {
    title: 'a command cannot change the catalog',
    requires: ['mount.readonly'],
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const place = pathOf(sandbox)
      for (const attempt of [`echo x > ${place}/x`, `rm ${place}/index.json`, `ln -sf /tmp ${place}/now`])
        failed(await sandbox.commands.run(attempt))
      const [over, kept] = [`mv ${place} ${place}-2`, `cat ${place}/index.json`]
      failed(await sandbox.commands.run(over))
      succeeded(await sandbox.commands.run(kept))
    },
  },
  {
    title: 'a file action reads the catalog and cannot change it',
    async run({ scene }) {
      const { sandbox } = await scene('deleting')
      const place = pathOf(sandbox)
      const session = JSON.parse(await sandbox.files.read(`${place}/session.json`)) as { readonly sandboxId: string }
      assert.equal(session.sandboxId, sandbox.id)
      assert.match(await sandbox.files.read(`${place}/now/budget.json`), /"used"/)
      for (const path of ['session.json', 'now/budget.json', 'new'])
        await refused(['READ_ONLY', 'PROTECTED', 'LINK_REFUSED'], sandbox.files.write(`${place}/${path}`, 'x'))
      await refused(['READ_ONLY', 'PROTECTED', 'NOT_PERMITTED'], sandbox.files.remove(place, { recursive: true }))
    },
  },
  {
    title: 'the catalog names variables and not their values, and holds no host path',
    async run({ create }) {
      const sandbox = await create({ env: { CANARY_NAME: 'canary-value-83' } })
      const place = pathOf(sandbox)
      await sandbox.commands.run('cd /; pwd; ls -d /workspace')
      await refused('NOT_FOUND', sandbox.files.read('/workspace/none'))
      const all = succeeded(await sandbox.commands.run(`cd ${place} && cat -- *.* now/*`))
      hidesTheHost(all)
      hidesTheHost(await sandbox.catalog())
      assert.ok(all.includes('CANARY_NAME'))
      assert.ok(!all.includes('canary-value-83'))
      assert.ok(!JSON.stringify(await sandbox.catalog()).includes('canary-value-83'))
    },
  },
  {
    title: 'searches pass the catalog over unless it is named',
    async run({ create }) {
      const sandbox = await create()
      const word = 'seldom-word-5512'
      await sandbox.commands.run(`echo ${word}`)
      await sandbox.commands.run(['true', pathOf(sandbox)])
      assert.deepEqual((await sandbox.files.grep(word)).matches, [])
    },
  },
]
