import { closeSync, fstatSync, openSync, readdirSync, writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { loadPipes } from './pipes.ts'
import { wire } from './wiring.ts'

const makePipe = loadPipes()

/** Everything that is told of a stream from now on. */
async function heard(stream: Readable): Promise<string> {
  let text = ''
  stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await new Promise((resolve) => stream.once('close', resolve))
  return text
}

describe.skipIf(makePipe === undefined || process.platform !== 'linux')('wire (needs koffi and /proc)', () => {
  it.each(['', 'last words'])(
    'tells the end of a child that ended before anybody listened, after %j',
    async (words) => {
      const wiring = wire(['fromChild'], makePipe)
      const [child] = wiring.stdio as readonly number[]
      writeSync(child as number, words)
      wiring.closeChildEnds()
      await delay(30)
      const [stream] = wiring.ours()
      expect(await heard(stream as Readable)).toBe(words)
    },
  )

  it('gives the same streams however often it is asked', () => {
    const wiring = wire(['fromChild', 'toChild'], makePipe)
    const streams = wiring.ours()
    expect(wiring.ours()).toEqual(streams)
    for (const stream of streams) stream?.destroy()
    wiring.closeChildEnds()
  })

  it('keeps no descriptor when they run out half-way', () => {
    const held = (): number => readdirSync('/proc/self/fd').length
    const nothing = openSync('/dev/null', 'r')
    const before = held()
    let left = 2
    const few = (): readonly [number, number] => {
      left -= 1
      if (left < 0) throw new Error('no more')
      return (makePipe as NonNullable<typeof makePipe>)()
    }
    expect(() => wire([nothing, 'fromChild', 'toChild', 'fromChild'], few)).toThrow('no more')
    expect(held()).toBe(before)
    expect(fstatSync(nothing).isCharacterDevice()).toBe(true)
    closeSync(nothing)
  })
})
