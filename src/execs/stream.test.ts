import { appendFileSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cases } from '../../test/fixtures/cases.ts'
import { execEventSchema } from '../contract/exec-record.ts'
import type { ExecRow } from '../contract/store.ts'
import { beginning, formatCursor, isOver, parseCursor } from './cursor.ts'
import { makeGround, type Ground } from './ground.test-support.ts'
import { recordPlace } from './layout.ts'
import { streamExec, wholeCharacters, type StreamedEvent } from './stream.ts'
import { openWatchers } from './watchers.ts'

let ground: Ground
beforeEach(() => {
  ground = makeGround()
})
afterEach(() => ground.remove())

interface Reader {
  readonly bytes: { stdout: Buffer[]; stderr: Buffer[] }
  readonly states: string[]
  last: string | undefined
}

function take(reader: Reader, { id, event }: StreamedEvent): void {
  execEventSchema.parse(event)
  reader.last = id
  if (event.type === 'state') reader.states.push(event.status)
  if (event.type === 'end') reader.states.push(event.exec.status)
  if (event.type !== 'stdout' && event.type !== 'stderr') return
  const bytes = Buffer.from(event.data, event.encoding)
  expect(bytes.length).toBe(event.bytes)
  expect(event.offset).toBe(Buffer.concat(reader.bytes[event.type]).length)
  reader.bytes[event.type].push(bytes)
}

/** Reads so many events, or what is there to be read, and goes away. True at the end. */
async function read(reader: Reader, row: () => ExecRow, most: number): Promise<boolean> {
  const watchers = openWatchers()
  const leaving = new AbortController()
  const watch = watchers.watch(row().exec_id, 'output')
  const parts = { root: ground.root, find: async () => row(), watch, signal: leaving.signal, isStopping: () => true }
  const from = reader.last === undefined ? beginning : parseCursor(reader.last)
  let count = 0
  for await (const each of streamExec(parts, from)) {
    take(reader, each)
    if (++count >= most) break
  }
  watch.close()
  return reader.last !== undefined && isOver(parseCursor(reader.last))
}

const newReader = (): Reader => ({ bytes: { stdout: [], stderr: [] }, states: [], last: undefined })

describe('a stream', () => {
  it('a reader that comes back with the id of the last event gets every byte once', async () => {
    const pieces = fc.array(
      fc.record({
        out: fc.uint8Array({ maxLength: 400 }),
        err: fc.uint8Array({ maxLength: 40 }),
        events: fc.integer({ min: 1, max: 3 }),
      }),
      {
        minLength: 1,
        maxLength: 6,
      },
    )
    await fc.assert(
      fc.asyncProperty(pieces, async (steps) => {
        let row = ground.exec({ status: 'RUNNING', started_at: new Date().toISOString() })
        const reader = newReader()
        const written = { out: [] as Uint8Array[], err: [] as Uint8Array[] }
        for (const { out, err, events } of steps) {
          appendFileSync(recordPlace(ground.root, row, 'stdout.txt'), out)
          appendFileSync(recordPlace(ground.root, row, 'stderr.txt'), err)
          written.out.push(out)
          written.err.push(err)
          await read(reader, () => row, events)
        }
        row = { ...row, status: 'SUCCEEDED', exit_code: 0 }
        while (!(await read(reader, () => row, 2)));
        expect(Buffer.concat(reader.bytes.stdout).equals(Buffer.concat(written.out))).toBe(true)
        expect(Buffer.concat(reader.bytes.stderr).equals(Buffer.concat(written.err))).toBe(true)
        expect(reader.states).toEqual(['QUEUED', 'RUNNING', 'SUCCEEDED'])
      }),
      cases(40),
    )
  })

  it('text stays text where a character is written in two halves', async () => {
    const row = ground.exec({ status: 'RUNNING', started_at: new Date().toISOString() })
    const path = recordPlace(ground.root, row, 'stdout.txt')
    const text = Buffer.from('aé€😀')
    const reader = newReader()
    writeFileSync(path, text.subarray(0, 2))
    await read(reader, () => row, 3)
    appendFileSync(path, text.subarray(2))
    await read(reader, () => ({ ...row, status: 'SUCCEEDED' }), 10)
    expect(reader.bytes.stdout.map(String)).toEqual(['a', 'é€😀'])
  })

  it('a cursor is read as it was written, and nothing else is one', () => {
    fc.assert(
      fc.property(fc.record({ told: fc.integer({ min: 0, max: 3 }), stdout: fc.nat(), stderr: fc.nat() }), (cursor) => {
        expect(parseCursor(formatCursor(cursor))).toEqual(cursor)
      }),
    )
    for (const text of ['', '4.0.0', '1.0', '-1.0.0', '1.0.0.0', '1.9999999999999999.0', 'a.b.c', '1.0.0\n'])
      expect(() => parseCursor(text), text).toThrow('Last-Event-ID')
  })

  it('a cut between characters leaves every byte for later, and none behind', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(20), (text, at) => {
        const bytes = Buffer.from(text)
        const part = bytes.subarray(0, at)
        const whole = wholeCharacters(part, false)
        expect(part.subarray(0, whole.length).equals(whole)).toBe(true)
        expect(part.length - whole.length).toBeLessThanOrEqual(3)
        expect(() => new TextDecoder('utf-8', { fatal: true }).decode(whole)).not.toThrow()
      }),
    )
  })
})
