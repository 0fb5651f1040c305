import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { PassThrough, Readable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../test/fixtures/cases.ts'
import { handOn, makeLender } from './lending.ts'
import { loadPipes, readEnd, writeEnd } from './pipes.ts'
import { takeAll } from './taker.ts'

const makePipe = loadPipes()

function pipe() {
  const [reading, writing] = makePipe?.() ?? [-1, -1]
  return { from: readEnd(reading), to: writeEnd(writing) }
}

const pattern = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, at) => at % 251))
const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

describe.runIf(makePipe !== undefined)('a pipe', () => {
  it('lends each chunk from one memory', async () => {
    const { from, to } = pipe()
    const memories = new Set<ArrayBufferLike>()
    const kinds = new Set<boolean>()
    const taken = takeAll(from, (chunk, isLent) => {
      memories.add(chunk.buffer)
      kinds.add(isLent)
    })
    to.end(pattern(1_000_000))
    await taken
    expect([...kinds]).toEqual([true])
    expect(memories.size).toBe(1)
  })

  it('gives whoever reads it in the ordinary way chunks that last', async () => {
    const { from, to } = pipe()
    const whole = pattern(1_000_000)
    to.end(whole)
    const chunks: Buffer[] = []
    for await (const chunk of from as AsyncIterable<Buffer>) chunks.push(chunk)
    expect(digest(Buffer.concat(chunks))).toBe(digest(whole))
  })

  it('hands on every byte once and in order, however long each chunk is dealt with', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 200_000 }), { maxLength: 6 }),
        fc.infiniteStream(fc.constantFrom('now', 'next', 'later')),
        async (sizes, moods) => {
          const { from, to } = pipe()
          const seen: Buffer[] = []
          let busy = 0
          // What comes before anybody takes it waits in the stream.
          const first = pattern(10)
          to.write(first)
          await delay(1)
          const taken = takeAll(from, (chunk) => {
            expect(busy).toBe(0)
            seen.push(Buffer.from(chunk))
            const mood = moods.next().value
            if (mood === 'now') return undefined
            busy += 1
            return (mood === 'next' ? Promise.resolve() : delay(1)).then(() => void (busy -= 1))
          })
          const wholes = sizes.map((size) => pattern(size))
          for (const whole of wholes) to.write(whole)
          to.end()
          await taken
          expect(digest(Buffer.concat(seen))).toBe(digest(Buffer.concat([first, ...wholes])))
        },
      ),
      cases(25),
    )
  })

  it('is taken to its end when it is cut off', async () => {
    const { from, to } = pipe()
    const taken = takeAll(from, () => delay(5))
    to.write('said')
    await delay(2)
    from.destroy()
    await taken
    to.destroy()
  })
})

describe('a stream that lends nothing', () => {
  it('is taken all the same, one chunk at a time', async () => {
    const source = new PassThrough()
    const seen: [string, boolean][] = []
    const taken = takeAll(source, async (chunk, isLent) => {
      seen.push([Buffer.from(chunk).toString(), isLent])
      await delay(1)
    })
    source.write('a')
    source.end('b')
    await taken
    expect(seen.map(([text]) => text).join('')).toBe('ab')
    expect(seen.every(([, isLent]) => !isLent)).toBe(true)
  })

  it('that has ended already is at its end', async () => {
    const source = Readable.from([])
    source.resume()
    await new Promise((resolve) => source.once('close', resolve))
    await takeAll(source, () => {})
  })
})

describe('what is handed on', () => {
  it('waits behind what waits already', async () => {
    const stream = new Readable({ read: () => {} })
    makeLender(stream)
    handOn(stream, Buffer.from('1'))
    const seen: string[] = []
    const taken = takeAll(stream, (chunk, isLent) => void seen.push(`${Buffer.from(chunk).toString()} ${isLent}`))
    handOn(stream, Buffer.from('2'))
    await delay(1)
    handOn(stream, Buffer.from('3'))
    stream.push(null)
    await taken
    expect(seen.at(-1)).toBe('3 true')
    expect(seen.map((each) => each.replace(/ .*/, '')).join('')).toBe('123')
  })
})
