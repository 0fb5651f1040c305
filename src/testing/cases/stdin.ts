import assert from 'node:assert/strict'
import type { ConformanceCase } from '../case.ts'
import { succeeded } from '../expect.ts'

const mib = 1024 * 1024

export const stdinCases: readonly ConformanceCase[] = [
  {
    title: 'a command without stdin reads end of file at once',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const result = await sandbox.commands.run(['cat'], { timeoutMs: 20_000 })
      assert.equal(succeeded(result), '')
    },
  },
  {
    title: 'stdin may be text',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      assert.equal(succeeded(await sandbox.commands.run(['cat'], { stdin: 'grüße\n' })), 'grüße\n')
    },
  },
  {
    title: 'stdin may be bytes, and every value of a byte arrives unchanged',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const stdin = Uint8Array.from({ length: 512 }, (_, index) => index % 256)
      const result = await sandbox.commands.run(['cat'], { stdin })
      assert.deepEqual(Buffer.from(result.stdoutBytes), Buffer.from(stdin))
    },
  },
  {
    title: 'stdin may be a stream, and its chunks arrive in order',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      async function* chunks() {
        for (let index = 0; index < 50; index += 1) yield Buffer.from(`${index}\n`)
      }
      const text = succeeded(await sandbox.commands.run(['cat'], { stdin: chunks() }))
      assert.equal(text, Array.from({ length: 50 }, (_, index) => `${index}\n`).join(''))
    },
  },
  {
    title: 'empty stdin is end of file',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      assert.equal(succeeded(await sandbox.commands.run('cat; echo end', { stdin: '' })), 'end\n')
    },
  },
  {
    title: 'four mebibytes of stdin arrive whole',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const result = await sandbox.commands.run(['wc', '-c'], { stdin: new Uint8Array(4 * mib) })
      assert.equal(succeeded(result).trim(), `${4 * mib}`)
    },
  },
  {
    title: 'a command that never reads its stdin ends all the same',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      succeeded(await sandbox.commands.run(['true'], { stdin: new Uint8Array(2 * mib), timeoutMs: 20_000 }))
    },
  },
  {
    title: 'a command that stops reading half-way ends all the same',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const stdin = Buffer.from('abc'.repeat(mib))
      const result = await sandbox.commands.run(['head', '-c', '3'], { stdin, timeoutMs: 20_000 })
      assert.equal(succeeded(result), 'abc')
    },
  },
  {
    title: 'stdin is not a terminal',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const result = await sandbox.commands.run('[ -t 0 ] || [ -t 1 ] || [ -t 2 ] && echo terminal || echo none')
      assert.equal(succeeded(result), 'none\n')
    },
  },
]
