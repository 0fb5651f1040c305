import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { ConformanceCase } from '../case.ts'
import { succeeded } from '../expect.ts'

export const outputCases: readonly ConformanceCase[] = [
  {
    title: 'stdout and stderr are told apart',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const result = await sandbox.commands.run('echo out; echo err >&2')
      assert.equal(result.stdout, 'out\n')
      assert.equal(result.stderr, 'err\n')
    },
  },
  {
    title: 'a silent command has empty output that is not truncated',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const result = await sandbox.commands.run(['true'])
      assert.deepEqual([result.stdout, result.stderr, result.stdoutTotalBytes, result.stderrTotalBytes], ['', '', 0, 0])
      assert.deepEqual([result.stdoutTruncated, result.stderrTruncated], [false, false])
    },
  },
  {
    title: 'a character whose bytes are written apart is one character in the text',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const script = String.raw`printf '\342\202'; sleep 0.1; printf '\254'; sleep 0.1; printf '\360\237'; sleep 0.1; printf '\230\200'`
      assert.equal(succeeded(await sandbox.commands.run(script)), '€😀')
    },
  },
  {
    title: 'NUL bytes are kept',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const result = await sandbox.commands.run(String.raw`printf 'a\000b\000'`)
      assert.deepEqual([...result.stdoutBytes], [97, 0, 98, 0])
      assert.equal(result.stdout, 'a\0b\0')
    },
  },
  {
    title: 'bytes that are not UTF-8 are kept as bytes and shown as replacement characters',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const result = await sandbox.commands.run(String.raw`printf 'x\377\376y'`)
      assert.deepEqual([...result.stdoutBytes], [0x78, 0xff, 0xfe, 0x79])
      assert.equal(result.stdout, 'x\ufffd\ufffdy')
    },
  },
  {
    title: 'line ends and a missing last newline are kept as they are',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      assert.equal(succeeded(await sandbox.commands.run(String.raw`printf 'a\r\nb\rc\n\nd'`)), 'a\r\nb\rc\n\nd')
    },
  },
  {
    title: 'a byte order mark in the output is kept',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      assert.equal(succeeded(await sandbox.commands.run(String.raw`printf '\357\273\277text'`)), '\ufefftext')
    },
  },
  {
    title: 'one line of 900,000 characters is kept whole',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const text = succeeded(await sandbox.commands.run("head -c 900000 /dev/zero | tr '\\0' x"))
      assert.equal(text.length, 900_000)
    },
  },
  {
    title: 'output exactly at the limit is not truncated',
    async run({ create }) {
      const sandbox = await create({ request: { maxStdoutBytes: 1000 } })
      const result = await sandbox.commands.run("head -c 1000 /dev/zero | tr '\\0' x")
      assert.equal(result.stdoutBytes.length, 1000)
      assert.equal(result.stdoutTruncated, false)
    },
  },
  {
    title: 'one byte over the limit is cut, flagged and counted',
    async run({ create }) {
      const sandbox = await create({ request: { maxStdoutBytes: 1000 } })
      const result = await sandbox.commands.run("head -c 1001 /dev/zero | tr '\\0' x")
      assert.equal(result.stdoutBytes.length, 1000)
      assert.equal(result.stdoutTotalBytes, 1001)
      assert.equal(result.stdoutTruncated, true)
    },
  },
  {
    title: 'each stream has a limit of its own',
    async run({ create }) {
      const sandbox = await create({ request: { maxStdoutBytes: 10, maxStderrBytes: 20 } })
      const text = '0123456789'.repeat(5)
      const result = await sandbox.commands.run(`printf ${text}; printf ${text} >&2`)
      assert.deepEqual([result.stdoutBytes.length, result.stderrBytes.length], [10, 20])
      assert.deepEqual([result.stdoutTruncated, result.stderrTruncated], [true, true])
    },
  },
  {
    title: 'truncation of stdout leaves stderr whole',
    async run({ create }) {
      const sandbox = await create({ request: { maxStdoutBytes: 10 } })
      const result = await sandbox.commands.run('head -c 100000 /dev/zero; echo all of it >&2')
      assert.deepEqual([result.stdoutTruncated, result.stderrTruncated], [true, false])
      assert.equal(result.stderr, 'all of it\n')
    },
  },
  {
    title: 'output over the limit is drained: the command ends by itself and is not killed',
    async run({ create }) {
      const sandbox = await create({ request: { maxStdoutBytes: 1000 } })
      const result = await sandbox.commands.run('head -c 20000000 /dev/zero; exit 5')
      assert.deepEqual(result.ended, { by: 'exit', code: 5 })
      assert.equal(result.stdoutTotalBytes, 20_000_000)
    },
  },
  {
    title: 'both streams full at once do not block each other',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const result = await sandbox.commands.run('head -c 500000 /dev/zero >&2 & head -c 500000 /dev/zero; wait')
      assert.deepEqual([result.stdoutTotalBytes, result.stderrTotalBytes], [500_000, 500_000])
    },
  },
  {
    title: 'onStdout and onStderr see each stream as it comes, before truncation',
    async run({ create }) {
      const sandbox = await create({ request: { maxStdoutBytes: 10 } })
      const seen = { out: 0, err: '' }
      await sandbox.commands.run('head -c 50000 /dev/zero; echo err >&2', {
        onStdout: (chunk) => void (seen.out += chunk.length),
        onStderr: (chunk) => void (seen.err += Buffer.from(chunk).toString()),
      })
      assert.deepEqual(seen, { out: 50_000, err: 'err\n' })
    },
  },
  {
    title: 'output reaches its listener while the command still runs',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest, host } = await room(plain)
      // It ends only when its listener has heard of it.
      const script = 'echo early; while [ ! -e heard ]; do sleep 0.02; done; echo late'
      const result = await plain.sandbox.commands.run(script, {
        cwd: guest,
        timeoutMs: 20_000,
        onStdout: () => writeFile(join(host, 'heard'), ''),
      })
      assert.equal(succeeded(result), 'early\nlate\n')
    },
  },
  {
    title: 'a listener that returns a promise is not called again before it settles',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      let inside = 0
      let most = 0
      let calls = 0
      await sandbox.commands.run('for i in 1 2 3 4; do echo $i; sleep 0.03; done', {
        async onStdout() {
          calls += 1
          inside += 1
          most = Math.max(most, inside)
          await pause(60)
          inside -= 1
        },
      })
      assert.equal(most, 1)
      assert.ok(calls > 0)
    },
  },
  {
    title: 'a character that the limit would cut in two is left out of the text',
    async run({ create }) {
      const sandbox = await create({ request: { maxStdoutBytes: 10 } })
      const result = await sandbox.commands.run("printf '€€€€€€'")
      assert.equal(result.stdoutTruncated, true)
      assert.ok('€€€€€€'.startsWith(result.stdout), JSON.stringify(result.stdout))
    },
  },
]
