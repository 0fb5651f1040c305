import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startClock } from './clock.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const never = (): AbortSignal => new AbortController().signal

describe('clock', () => {
  it('aborts when the time is over, and says that it was the time', () => {
    const clock = startClock(1000, never())
    vi.advanceTimersByTime(999)
    expect([clock.signal.aborted, clock.isOver()]).toEqual([false, false])
    vi.advanceTimersByTime(1)
    expect([clock.signal.aborted, clock.isOver()]).toEqual([true, true])
  })

  it('aborts when the caller does, and says that it was not the time', () => {
    const caller = new AbortController()
    const clock = startClock(1000, caller.signal)
    caller.abort()
    expect(clock.signal.aborted).toBe(true)
    vi.advanceTimersByTime(2000)
    expect(clock.isOver()).toBe(false)
  })

  it('is aborted from the beginning if the caller is', () => {
    expect(startClock(1000, AbortSignal.abort()).signal.aborted).toBe(true)
  })

  it('stands still while somebody is waited for', async () => {
    const clock = startClock(1000, never())
    vi.advanceTimersByTime(600)
    const answer = await clock.pauseFor(async () => {
      vi.advanceTimersByTime(86_400_000)
      return 'yes'
    })
    expect(answer).toBe('yes')
    vi.advanceTimersByTime(399)
    expect(clock.isOver()).toBe(false)
    vi.advanceTimersByTime(1)
    expect(clock.isOver()).toBe(true)
  })

  it('a stopped clock never strikes', () => {
    const clock = startClock(1000, never())
    clock.stop()
    vi.advanceTimersByTime(5000)
    expect(clock.signal.aborted).toBe(false)
  })
})
