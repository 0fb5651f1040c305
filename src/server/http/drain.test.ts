import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createDrain } from './drain.ts'

describe('the end of a server', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('streams are ended when their readers have been told, and not before', async () => {
    const drain = createDrain()
    const leave = drain.enterStream()
    const drained = drain.begin({ graceMs: 0, running: [] })
    await vi.advanceTimersByTimeAsync(1000)
    expect(drain.streams.aborted).toBe(false)
    leave()
    await vi.advanceTimersByTimeAsync(100)
    expect(drain.streams.aborted).toBe(true)
    await drained
  })

  it.each(['nobody hurries', 'somebody does'])('a reader who waits for more is not waited for: %s', async (how) => {
    const drain = createDrain()
    drain.enterStream()
    const drained = drain.begin({ graceMs: 0, running: [] })
    await vi.advanceTimersByTimeAsync(100)
    expect(drain.streams.aborted).toBe(false)
    if (how === 'somebody does') drain.hurry()
    await vi.advanceTimersByTimeAsync(how === 'somebody does' ? 0 : 2000)
    expect(drain.streams.aborted).toBe(true)
    await drained
  })
})
