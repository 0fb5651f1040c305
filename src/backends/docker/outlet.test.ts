import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openOutlet } from './outlet.ts'

const mark = 'glovebox-0123'

async function read(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

describe('an outlet', () => {
  it('hands on every byte up to the mark, however it is cut into chunks', async () => {
    const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array))
    const like = fc.constantFrom('g', 'glovebox-', 'glovebox-012', 'gglovebox-01').map((text) => Buffer.from(text))
    const content = fc.array(fc.oneof(bytes, like), { maxLength: 8 }).map((parts) => Buffer.concat(parts))
    await fc.assert(
      fc.asyncProperty(content, fc.array(fc.nat(220), { maxLength: 6 }), async (wanted, cuts) => {
        fc.pre(!wanted.includes(mark))
        const pipe = new PassThrough()
        const outlet = openOutlet(pipe)
        const words: string[] = []
        const share = outlet.begin(mark, (word) => {
          words.push(word)
          outlet.finish()
        })
        const whole = Buffer.concat([wanted, Buffer.from(`${mark} exit 3 0\n`)])
        const places = [0, ...cuts.map((cut) => cut % whole.length).toSorted((a, b) => a - b), whole.length]
        places.slice(1).forEach((end, index) => pipe.write(whole.subarray(places[index], end)))
        expect(await read(share)).toEqual(wanted)
        expect(words).toEqual(['exit 3 0'])
      }),
    )
  })

  it('gives the next command none of what came before its beginning', async () => {
    const pipe = new PassThrough()
    const outlet = openOutlet(pipe)
    const first = outlet.begin('mark-1', () => outlet.finish())
    pipe.write('one mark-1 exit\nbetween')
    expect((await read(first)).toString()).toBe('one ')
    await pause(1)
    const second = outlet.begin('mark-2', () => outlet.finish())
    pipe.write('two mark-1 is only text now mark-2 exit\n')
    expect((await read(second)).toString()).toBe('two mark-1 is only text now ')
  })

  it('hears words after the share has ended, also while nobody reads the share', async () => {
    const pipe = new PassThrough()
    const outlet = openOutlet(pipe)
    const words: string[] = []
    outlet.begin(mark, (word) => {
      words.push(word)
      outlet.finish()
    })
    pipe.write(`x${mark} exit\n`)
    pipe.write(`${mark} clean\n`)
    await pause(5)
    expect(words).toEqual(['exit', 'clean'])
  })

  it('holds the writer back while nobody reads', async () => {
    const pipe = new PassThrough()
    openOutlet(pipe).begin(mark, () => {})
    let written = 0
    while (written < 200 && pipe.write(Buffer.alloc(16 * 1024))) {
      written += 1
      await pause(0)
    }
    expect(written).toBeLessThan(50)
  })

  it('ends with the pipe, and what was held back was no mark then', async () => {
    const pipe = new PassThrough()
    const share = openOutlet(pipe).begin(mark, () => {})
    pipe.end('tail glovebox-01')
    expect((await read(share)).toString()).toBe('tail glovebox-01')
  })
})
