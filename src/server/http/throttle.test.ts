import { describe, expect, it } from 'vitest'
import { createThrottle } from './throttle.ts'

const limits = { inFlightPerToken: 2, streamsPerToken: 1, requestsPerSecond: 10, burst: 5 }

describe('throttle', () => {
  it('a token has so many requests at a time, and others their own', () => {
    const throttle = createThrottle(limits, () => 0)
    const leave = throttle.enter('a')
    throttle.enter('a')
    expect(() => throttle.enter('a')).toThrow('at the same time')
    throttle.enter('b')
    leave()
    throttle.enter('a')
  })

  it('a token has so many requests in a second, and more after a rest', () => {
    let now = 0
    const throttle = createThrottle(limits, () => now)
    for (let made = 0; made < 5; made++) throttle.enter('a')()
    expect(() => throttle.enter('a')).toThrow('in a second')
    now = 100
    throttle.enter('a')()
    expect(() => throttle.enter('a')).toThrow('in a second')
    now = 10_000
    for (let made = 0; made < 5; made++) throttle.enter('a')()
    expect(() => throttle.enter('a')).toThrow('in a second')
  })

  it('streams are counted apart', () => {
    const throttle = createThrottle(limits, () => 0)
    const leave = throttle.enterStream('a')
    expect(() => throttle.enterStream('a')).toThrow('open streams')
    leave()
    throttle.enterStream('a')
  })
})
