import assert from 'node:assert/strict'
import type { ConformanceCase } from '../case.ts'
import { afterItsBeginMs, succeeded } from '../expect.ts'

export const concurrencyCases: readonly ConformanceCase[] = [
  {
    title: 'twenty commands at once each have their own output, code and environment',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const runs = Array.from({ length: 20 }, (_, index) =>
        sandbox.commands.run('echo "out $WHO"; echo "err $WHO" >&2; exit $WHO', { env: { WHO: `${index}` } }),
      )
      for (const [index, result] of (await Promise.all(runs)).entries()) {
        const seen = [result.exitCode, result.stdout, result.stderr]
        assert.deepEqual(seen, [index, `out ${index}\n`, `err ${index}\n`])
      }
    },
  },
  {
    title: 'two sandboxes at once keep different policies',
    async run({ create }) {
      const strict = await create({ request: { maxStdoutBytes: 10, timeoutMs: afterItsBeginMs } })
      const loose = await create({ request: { maxStdoutBytes: 10_000 } })
      const script = `head -c 5000 /dev/zero; sleep ${(2 * afterItsBeginMs) / 1000}`
      const [cut, whole] = await Promise.all([strict.commands.run(script), loose.commands.run(script)])
      assert.deepEqual([cut.ended.by, cut.stdoutBytes.length], ['timeout', 10])
      assert.deepEqual([whole.ended.by, whole.stdoutBytes.length], ['exit', 5000])
    },
  },
  {
    title: 'two sandboxes at once see their own files at the same guest path',
    async run({ create }) {
      const [one, other] = await Promise.all([create(), create()])
      await Promise.all([one.files.write('/workspace/who', 'one'), other.files.write('/workspace/who', 'other')])
      const seen = await Promise.all([one, other].map((sandbox) => sandbox.commands.run('cat /workspace/who')))
      assert.deepEqual(seen.map(succeeded), ['one', 'other'])
    },
  },
  {
    title: 'ten writes to one file at once leave one of the contents, whole',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest } = await room(plain)
      const contents = Array.from({ length: 10 }, (_, index) => `${index}`.repeat(50_000))
      await Promise.all(contents.map((content) => plain.sandbox.files.write(`${guest}/file`, content)))
      assert.ok(contents.includes(await plain.sandbox.files.read(`${guest}/file`)))
      assert.deepEqual(
        (await plain.sandbox.files.list(guest)).entries.map(({ name }) => name),
        ['file'],
      )
    },
  },
  {
    title: 'forty files written at once are all there',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest } = await room(plain)
      const names = Array.from({ length: 40 }, (_, index) => `f${`${index}`.padStart(2, '0')}`)
      await Promise.all(names.map((name) => plain.sandbox.files.write(`${guest}/deep/${name}`, name)))
      assert.deepEqual(
        (await plain.sandbox.files.list(`${guest}/deep`)).entries.map(({ name }) => name),
        names,
      )
    },
  },
]
