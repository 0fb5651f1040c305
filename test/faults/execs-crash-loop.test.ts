// Short form of the campaign exec-crash-loop: kill -9 of the server every 300 ms, also in the middle of its start.
import { describe, expect, it } from 'vitest'
import { isRequired } from '../conformance/required.ts'
import { crashLoop } from './exec-crash-loop.ts'
import { dockerHasImage, execTarget } from './exec-targets.ts'

describe('a server that is killed again and again', () => {
  it('has run each request once when it is left alone, and every end is true or LOST', async () => {
    const loop = await crashLoop({ target: execTarget('bwrap'), forMs: 6000, mostSent: 40 })
    expect(loop.faults).toEqual([])
    expect(loop.kills.serving).toBeGreaterThanOrEqual(2)
    expect(Object.values(loop.statuses).reduce((sum, count) => sum + count, 0)).toBe(loop.sent)
    // Somebody was answered by one that was killed.
    expect(loop.answered).toBeGreaterThan(0)
  })
})

describe.skipIf(!dockerHasImage('glovebox/sandbox:latest') && !isRequired('docker'))(
  'a server with containers that is killed again and again',
  () => {
    it('has run each request once when it is left alone, and every end is true or LOST', async () => {
      const loop = await crashLoop({ target: execTarget('docker'), forMs: 6000, mostSent: 12 })
      expect(loop.faults).toEqual([])
      expect(loop.kills.serving).toBeGreaterThanOrEqual(2)
      expect(loop.answered).toBeGreaterThan(0)
      expect(Object.values(loop.statuses).reduce((sum, count) => sum + count, 0)).toBe(loop.sent)
      // What runs goes on without its server, so some come to their end however often that is killed.
      expect(loop.statuses['FAILED']).toBeGreaterThan(0)
    })
  },
)
