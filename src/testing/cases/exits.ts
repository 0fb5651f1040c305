import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConformanceCase } from '../case.ts'
import { succeeded } from '../expect.ts'

const endsWithCode = (code: number, shown = code): ConformanceCase => ({
  title: `a command that says exit ${code} has exit code ${shown}, and nothing is thrown`,
  async run({ scene }) {
    const { sandbox } = await scene('plain')
    const result = await sandbox.commands.run(`exit ${code}`)
    assert.deepEqual(result.ended, { by: 'exit', code: shown })
    assert.equal(result.exitCode, shown)
  },
})

const endsBySignal = (signal: string, number: number): ConformanceCase => ({
  title: `a command that SIG${signal} ends has exit code ${128 + number}`,
  async run({ scene }) {
    const { sandbox } = await scene('plain')
    const result = await sandbox.commands.run(['/bin/sh', '-c', `kill -${signal} $$; sleep 5; exit 1`])
    assert.equal(result.exitCode, 128 + number)
    // A mechanism with its own first process may only learn 128+n; both are true, a timeout or a cancel is not.
    assert.ok(['exit', 'signal'].includes(result.ended.by), JSON.stringify(result.ended))
    if (result.ended.by === 'signal') assert.equal(result.ended.signal, `SIG${signal}`)
  },
})

export const exitCases: readonly ConformanceCase[] = [
  endsWithCode(0),
  endsWithCode(1),
  endsWithCode(42),
  endsWithCode(125),
  endsWithCode(255),
  endsWithCode(300, 44),
  endsBySignal('TERM', 15),
  endsBySignal('KILL', 9),
  endsBySignal('INT', 2),
  endsBySignal('PIPE', 13),
  {
    title: 'a program that does not exist has exit code 127',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const result = await sandbox.commands.run(['no-such-program-anywhere'])
      assert.equal(result.exitCode, 127)
      assert.notEqual(result.stderr, '', 'nobody is told why')
    },
  },
  {
    title: 'a file that may not be executed has exit code 126',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest, host } = await room(plain)
      await writeFile(join(host, 'plain.txt'), 'words\n', { mode: 0o644 })
      const result = await plain.sandbox.commands.run([`${guest}/plain.txt`])
      assert.equal(result.exitCode, 126)
    },
  },
  {
    title: 'a string is run by a shell: pipes, variables and substitutions work',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const result = await sandbox.commands.run('name=world; printf "hello %s" "$(echo $name)" | tr a-z A-Z')
      assert.equal(succeeded(result), 'HELLO WORLD')
    },
  },
  {
    title: 'an array is run as it is',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      assert.equal(succeeded(await sandbox.commands.run(['printf', '%s', '$HOME | cat'])), '$HOME | cat')
    },
  },
  {
    title: 'a shell that cannot parse its command is a result, not an exception',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const result = await sandbox.commands.run('if then fi (')
      assert.equal(result.ended.by, 'exit')
      assert.notEqual(result.exitCode, 0)
      assert.notEqual(result.stderr, '')
    },
  },
  {
    title: 'every exec has an id of its own',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const [one, two] = await Promise.all([sandbox.commands.run(['true']), sandbox.commands.run(['true'])])
      assert.match(one.execId, /^exec_[0-9a-z]+$/)
      assert.notEqual(one.execId, two.execId)
    },
  },
  {
    title: 'durationMs tells how long the command took',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const { durationMs } = await sandbox.commands.run(['sleep', '0.3'])
      assert.ok(durationMs >= 290 && durationMs < 15_000, `${durationMs} ms`)
    },
  },
  {
    title: 'a command that succeeds has no denials',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      assert.deepEqual((await sandbox.commands.run(['true'])).denials, [])
    },
  },
]
