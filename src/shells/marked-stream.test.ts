import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openMarkedStream } from './marked-stream.ts'

const mark = '=AAAAAAAAAAAAAAAAAAAAAA'
const end = (word: string): Buffer => Buffer.from(`\u001e${mark} ${word}\n`)

function gather(): { readonly take: (chunk: Uint8Array) => void; bytes(): Buffer } {
  const chunks: Uint8Array[] = []
  return { take: (chunk) => void chunks.push(Buffer.from(chunk)), bytes: () => Buffer.concat(chunks) }
}

/** Bytes in which beginnings of the mark are frequent. */
const tempting = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
      fc.integer({ min: 0, max: mark.length }).map((length) => Buffer.from(`\u001e${mark.slice(0, length)}`)),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => Buffer.concat(pieces))
  .filter((bytes) => !bytes.includes(`\u001e${mark}`))

describe('a marked stream', () => {
  it('gives a command all of its bytes and nothing else, however they are cut', async () => {
    await fc.assert(
      fc.asyncProperty(tempting, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), async (bytes, cuts) => {
        const pipe = new PassThrough()
        const stream = openMarkedStream(pipe)
        const taken = gather()
        const ended = stream.begin(mark, taken.take)
        const whole = Buffer.concat([bytes, end('3 kept')])
        for (let at = 0, cut = 0; at < whole.length; cut += 1) {
          const length = cuts[cut % cuts.length] ?? 1
          pipe.write(whole.subarray(at, at + length))
          at += length
        }
        expect(await ended).toBe('3 kept')
        expect(taken.bytes().equals(bytes)).toBe(true)
      }),
      { numRuns: 200 },
    )
  })

  it('keeps for the next command what is written between two, and counts what it does not keep', async () => {
    const pipe = new PassThrough()
    const stream = openMarkedStream(pipe)
    const first = stream.begin(mark, () => {})
    pipe.write(Buffer.concat([end('0 kept'), Buffer.from('late')]))
    await first
    pipe.write('r')
    await turn()
    const taken = gather()
    const second = stream.begin(mark, taken.take)
    pipe.write(Buffer.concat([Buffer.from('own'), end('0 kept'), Buffer.alloc(1024 * 1024 + 7)]))
    await second
    await turn()
    expect(taken.bytes().toString()).toBe('laterown')
    expect([stream.dropped(), stream.dropped()]).toEqual([7, 0])
  })

  it('tells the end of the stream in the place of a mark, and hands on what looked like one', async () => {
    const pipe = new PassThrough()
    const stream = openMarkedStream(pipe)
    const taken = gather()
    const ended = stream.begin(mark, taken.take)
    pipe.end(`said\u001e${mark}`)
    expect(await ended).toBeUndefined()
    expect(taken.bytes().toString()).toBe(`said\u001e${mark}`)
    expect(await stream.begin(mark, taken.take)).toBeUndefined()
  })

  it('reads no further while whoever takes the bytes asks it to wait', async () => {
    const pipe = new PassThrough({ highWaterMark: 4 })
    const stream = openMarkedStream(pipe)
    let go = (): void => {}
    const taken: string[] = []
    const ended = stream.begin(mark, (chunk) => {
      taken.push(Buffer.from(chunk).toString())
      return new Promise<void>((resolve) => (go = resolve))
    })
    pipe.write('one')
    pipe.write('two')
    await turn()
    await turn()
    expect(taken).toEqual(['one'])
    go()
    await turn()
    await turn()
    expect(taken).toEqual(['one', 'two'])
    go()
    pipe.write(end('0 kept'))
    expect(await ended).toBe('0 kept')
  })
})
