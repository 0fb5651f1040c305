import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openJournal, type JournalPosition } from './journal.ts'

const none: JournalPosition = { stdout: 0, stderr: 0 }
const plenty = { stdout: 1_000_000, stderr: 1_000_000 }

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
          const journal = openJournal({ stdout: limit, stderr: limit })
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
    const journal = openJournal(plenty)
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
    const journal = openJournal(plenty)
    const leaving = new AbortController()
    const reading = journal.read(none, leaving.signal).next()
    leaving.abort()
    expect((await reading).done).toBe(true)
  })
})
