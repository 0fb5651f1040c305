import { setTimeout as delay } from 'node:timers/promises'
import { PassThrough, Readable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Process, ProcessExit } from '../contract/backend.ts'
import { createCapture } from './capture.ts'
import { collect } from './collect.ts'

const limits = { timeoutMs: 1000, maxStdoutBytes: 100, maxStderrBytes: 100 }
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')

/** A process that says what it is told to and ends when it is told to. */
function scripted(stdout: readonly Uint8Array[], end: ProcessExit | 'later' = { code: 0 }) {
  let settle: (exit: ProcessExit) => void = () => {}
  const exit = new Promise<ProcessExit>((resolve) => (settle = resolve))
  const out = Readable.from(stdout)
  const stdin = new PassThrough()
  let kills = 0
  const process: Process = {
    stdin,
    stdout: out,
    stderr: Readable.from([]),
    exit,
    kill() {
      kills += 1
      settle({ signal: 'SIGKILL' })
    },
  }
  if (end !== 'later') settle(end)
  return { process, stdin, kills: () => kills, settle }
}

describe('capture', () => {
  it('keeps the head, counts all, and says when it cut, however the chunks fall', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 20 })), fc.nat(60), (chunks, limit) => {
        const capture = createCapture(limit)
        for (const chunk of chunks) capture.add(chunk)
        const whole = Buffer.concat(chunks)
        const { bytes, totalBytes, truncated } = capture.result()
        expect(Buffer.from(bytes).equals(whole.subarray(0, limit))).toBe(true)
        expect(totalBytes).toBe(whole.length)
        expect(truncated).toBe(whole.length > limit)
      }),
    )
  })
})

describe('collect', () => {
  it('gives the output and the end of a process', async () => {
    const { process } = scripted([Buffer.from('a'), Buffer.from('b')], { code: 7 })
    const result = await collect(process, limits)
    expect(result.ended).toEqual({ by: 'exit', code: 7 })
    expect(text(result.stdout.bytes)).toBe('ab')
  })

  it('ends by timeout and kills', async () => {
    const { process, kills } = scripted([], 'later')
    const result = await collect(process, { ...limits, timeoutMs: 20 })
    expect(result.ended.by).toBe('timeout')
    expect(kills()).toBe(1)
  })

  it('ends by cancel when the signal fires, also when it has fired before', async () => {
    const { process } = scripted([], 'later')
    const result = await collect(process, { ...limits, signal: AbortSignal.abort() })
    expect(result.ended.by).toBe('cancel')
  })

  it('a process that ended by itself at the deadline ended by exit', async () => {
    const { process, settle } = scripted([], 'later')
    const running = collect({ ...process, kill: () => settle({ code: 0 }) }, { ...limits, timeoutMs: 10 })
    expect((await running).ended).toEqual({ by: 'exit', code: 0 })
  })

  it('only a kill for want of memory ends by oom', async () => {
    const killed = scripted([], { signal: 'SIGKILL', oomKilled: true })
    expect((await collect(killed.process, limits)).ended).toEqual({ by: 'oom' })
    const survived = scripted([], { code: 1, oomKilled: true })
    expect((await collect(survived.process, limits)).ended).toEqual({ by: 'exit', code: 1 })
  })

  it('lost stays lost', async () => {
    const { process } = scripted([], { lost: 'nobody saw it' })
    expect((await collect(process, limits)).ended).toEqual({ by: 'lost', reason: 'nobody saw it' })
  })

  it('a listener that throws ends the process, and its fault is the answer', async () => {
    const { process, kills } = scripted([Buffer.from('x')], 'later')
    const running = collect(process, { ...limits, onStdout: () => Promise.reject(new Error('no more')) })
    await expect(running).rejects.toThrow('no more')
    expect(kills()).toBe(1)
  })

  it('a listener that waits holds the stream back, and loses nothing', async () => {
    const chunks = Array.from({ length: 50 }, (_, index) => Buffer.from([index]))
    const seen: number[] = []
    const { process } = scripted(chunks)
    await collect(process, {
      ...limits,
      onStdout: async (chunk) => {
        await delay(1)
        seen.push(...chunk)
      },
    })
    expect(seen).toEqual(chunks.map((_, index) => index))
  })

  it('feeds text, bytes and streams, and closes the input', async () => {
    const read = async (stdin: NonNullable<Parameters<typeof collect>[1]['stdin']>): Promise<string> => {
      const { process, stdin: input, settle } = scripted([], 'later')
      const got: Buffer[] = []
      input.on('data', (chunk: Buffer) => got.push(chunk))
      input.on('end', () => settle({ code: 0 }))
      await collect(process, { ...limits, stdin })
      return Buffer.concat(got).toString('utf8')
    }
    expect(await read('text')).toBe('text')
    expect(await read(Buffer.from('bytes'))).toBe('bytes')
    expect(await read(Readable.from([Buffer.from('one '), Buffer.from('two')]))).toBe('one two')
  })

  it('an input that never ends does not keep a process that has ended', async () => {
    const endless = (async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('x')
      await new Promise(() => {})
    })()
    const { process } = scripted([], { code: 0 })
    expect((await collect(process, { ...limits, stdin: endless })).ended).toEqual({ by: 'exit', code: 0 })
  })
})
