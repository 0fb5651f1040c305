import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openJournal, type JournalPosition } from './journal.ts'
import { openOutputRoom } from './output-room.ts'
import { entryBytes } from './shelf.ts'

const none: JournalPosition = { stdout: 0, stderr: 0 }
const plenty = { stdout: 1_000_000, stderr: 1_000_000 }
const wideRoom = () => openOutputRoom({ outputBytesPerToken: 1e9, outputBytes: 1e9 })

describe('a journal', () => {
  it('gives every kept byte once, wherever its reader leaves and comes back', async () => {
    const chunk = fc.record({
      stream: fc.constantFrom('stdout' as const, 'stderr' as const),
      bytes: fc.uint8Array({ maxLength: 300 }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(chunk, { maxLength: 20 }),
        fc.nat(5),
        fc.nat(500),
        async (chunks, leaveAfter, limit) => {
          const journal = openJournal(() => ({ stdout: limit, stderr: limit }), wideRoom().enter('a'))
          const adding = (async () => {
            for (const { stream, bytes } of chunks) {
              journal.add(stream, bytes)
              await Promise.resolve()
            }
            journal.end()
          })()
          const got = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) }
          let at = none
          for (let isOver = false; !isOver;) {
            let parts = 0
            isOver = true
            for await (const part of journal.read(at, new AbortController().signal)) {
              got[part.stream] = Buffer.concat([got[part.stream], part.bytes])
              at = part.next
              if (++parts > leaveAfter) {
                isOver = false
                break
              }
            }
          }
          await adding
          for (const stream of ['stdout', 'stderr'] as const) {
            const said = Buffer.concat(chunks.filter((each) => each.stream === stream).map(({ bytes }) => bytes))
            expect(got[stream].equals(said.subarray(0, limit))).toBe(true)
          }
        },
      ),
    )
  })

  it('a part of text ends where a character does', async () => {
    const journal = openJournal(() => plenty, wideRoom().enter('a'))
    const bytes = Buffer.from('a😀b')
    journal.add('stdout', bytes.subarray(0, 3))
    const reading = journal.read(none, new AbortController().signal)
    expect((await reading.next()).value).toMatchObject({ bytes: Buffer.from('a') })
    journal.add('stdout', bytes.subarray(3))
    journal.end()
    expect((await reading.next()).value).toMatchObject({ bytes: Buffer.from('😀b') })
    expect((await reading.next()).done).toBe(true)
  })

  it('a reader that waits is let go by its signal', async () => {
    const journal = openJournal(() => plenty, wideRoom().enter('a'))
    const leaving = new AbortController()
    const reading = journal.read(none, leaving.signal).next()
    leaving.abort()
    expect((await reading).done).toBe(true)
  })

  it('keeps the head of what was said where there is no room for more, and fills no hole when there is', () => {
    const room = openOutputRoom({ outputBytesPerToken: 3 * entryBytes, outputBytes: 1e9 })
    const journal = openJournal(() => plenty, room.enter('a'))
    const other = room.enter('a')
    journal.add('stdout', Buffer.alloc(5000, 'a'))
    journal.add('stdout', Buffer.alloc(5000, 'b'))
    expect(journal.keptBytes()).toBe(entryBytes)
    expect(journal.limit('stdout')).toBe(entryBytes)
    other.leave()
    journal.add('stdout', Buffer.alloc(5000, 'c'))
    expect(journal.text('stdout')).toBe('a'.repeat(5000) + 'b'.repeat(entryBytes - 5000))
    // The other output has what room there is.
    journal.add('stderr', Buffer.from('told'))
    expect([journal.text('stderr'), journal.limit('stderr')]).toEqual(['told', plenty.stderr])
  })

  it('asks for room as its buffer grows, and not for each chunk', () => {
    const asked: number[] = []
    const share = { take: (bytes: number) => asked.push(bytes) && bytes, hold: () => {}, leave: () => {} }
    const journal = openJournal(() => plenty, share)
    for (let chunks = 0; chunks < 100_000; chunks++) journal.add('stdout', Buffer.from('1234567'))
    expect(journal.keptBytes()).toBe(700_000)
    expect(asked.length).toBeLessThan(10)
  })

  it('counts until the command has ended and its last reader has left, and again for one that comes back', async () => {
    const room = wideRoom()
    const journal = openJournal(() => plenty, room.enter('a'))
    journal.add('stdout', Buffer.alloc(100_000, 'a'))
    const reading = () => journal.read(none, new AbortController().signal)
    const [first, second] = [reading(), reading()]
    await first.next()
    await second.next()
    journal.end()
    expect(room.heldBytes).toBeGreaterThanOrEqual(100_000)
    await first.return(undefined)
    expect(room.heldBytes).toBeGreaterThanOrEqual(100_000)
    for await (const _part of second);
    expect(room.heldBytes).toBe(0)
    const later = reading()
    await later.next()
    expect(room.heldBytes).toBe(100_000)
    await later.return(undefined)
    expect(room.heldBytes).toBe(0)
  })
})
