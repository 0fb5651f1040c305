import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chunkFrame, chunkIn, frame, framesOf, jsonFrame, kinds, type Frame, type Kind } from './frames.ts'

async function* cut(bytes: Buffer, places: readonly number[]): AsyncGenerator<Buffer> {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1))), bytes.length].toSorted((a, b) => a - b)
  let at = 0
  for (const end of ends) {
    yield bytes.subarray(at, end)
    at = end
  }
}

async function read(bytes: Buffer, places: readonly number[] = []): Promise<readonly Frame[]> {
  const all: Frame[] = []
  for await (const one of framesOf(cut(bytes, places))) all.push({ kind: one.kind, content: Buffer.from(one.content) })
  return all
}

describe('frames of a held shell', () => {
  it('are read as they were written, however the stream is cut', async () => {
    const one = fc.record({
      kind: fc.constantFrom(...(Object.keys(kinds) as Kind[])),
      content: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(one, { maxLength: 6 }),
        fc.array(fc.nat(200), { maxLength: 8 }),
        async (all, places) => {
          const bytes = Buffer.concat(all.map(({ kind, content }) => frame(kind, content)))
          expect(await read(bytes, places)).toEqual(all)
        },
      ),
    )
  })

  it('a chunk keeps its offset, beyond four bytes too', async () => {
    const [found] = await read(chunkFrame('output', 2 ** 40 + 7, Buffer.from('drawn')))
    expect(found && chunkIn(found)).toEqual({ offset: 2 ** 40 + 7, bytes: Buffer.from('drawn') })
  })

  it('what is no frame is refused, and what is cut off is none', async () => {
    await expect(read(Buffer.from('GET / HTTP/1.1\r\n'))).rejects.toThrow(TypeError)
    await expect(read(Buffer.from([kinds.input, 0xff, 0xff, 0xff, 0xff]))).rejects.toThrow(TypeError)
    const whole = jsonFrame('resize', { cols: 80, rows: 24 })
    expect(await read(whole.subarray(0, -1))).toEqual([])
  })
})
