import { PassThrough, type Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { openOutlet } from './outlet.ts'

const read = async (stream: Readable): Promise<string> => {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text
}

describe('an outlet', () => {
  it('ends the share of a command when nobody writes any more and the pipe is empty', async () => {
    const pipe = new PassThrough()
    const outlet = openOutlet(pipe, 0, { countUnread: () => pipe.writableLength })
    const first = outlet.begin()
    pipe.write('one')
    await outlet.finish()
    expect(await read(first)).toBe('one')
    const second = outlet.begin()
    pipe.write('two')
    await outlet.finish()
    expect(await read(second)).toBe('two')
  })

  it('waits for what is still in the pipe', async () => {
    const pipe = new PassThrough()
    let unread = 4
    const outlet = openOutlet(pipe, 0, { countUnread: () => unread })
    const share = outlet.begin()
    let whole = false
    void outlet.finish().then(() => (whole = true))
    await new Promise(setImmediate)
    expect(whole).toBe(false)
    unread = 0
    pipe.write('late')
    expect(await read(share)).toBe('late')
    expect(whole).toBe(true)
  })

  it('holds the writer back while nobody reads, and loses nothing', async () => {
    const pipe = new PassThrough({ highWaterMark: 1024 })
    const outlet = openOutlet(pipe, 0, { countUnread: () => pipe.writableLength })
    const share = outlet.begin()
    for (let block = 0; block < 200; block += 1) pipe.write('x'.repeat(1024))
    await new Promise(setImmediate)
    expect(pipe.isPaused()).toBe(true)
    const finished = outlet.finish()
    expect((await read(share)).length).toBe(200 * 1024)
    await finished
  })

  it('ends with the pipe when the cell is gone', async () => {
    const pipe = new PassThrough()
    const outlet = openOutlet(pipe, 0, { countUnread: () => 0 })
    const share = outlet.begin()
    pipe.write('last')
    pipe.end()
    setImmediate(() => pipe.destroy())
    expect(await read(share)).toBe('last')
    expect(await read(outlet.begin())).toBe('')
    await outlet.finish()
  })
})
