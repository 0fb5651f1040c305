import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { openPreface } from './preface.ts'

describe('what a shell says on a terminal before its command', () => {
  it('comes line by line, and the rest is the command’s, byte for byte', async () => {
    const source = new PassThrough()
    const preface = openPreface(source)
    source.write('listen')
    source.write('ing\r\nsecond\r\nfirst words')
    expect([await preface.line(), await preface.line()]).toEqual(['listening', 'second'])
    preface.end({ keepsRest: true })
    source.end(' and last')
    expect(await text(preface.rest)).toBe('first words and last')
  })

  it('ends without a line when nothing comes, and when somebody else speaks', async () => {
    const silent = new PassThrough()
    const preface = openPreface(silent)
    silent.end('no line')
    expect(await preface.line()).toBeUndefined()
    preface.end({ keepsRest: false })
    expect(await text(preface.rest)).toBe('')
    const loud = new PassThrough()
    const other = openPreface(loud)
    loud.write('x'.repeat(100_000))
    expect(await other.line()).toBeUndefined()
  })
})
