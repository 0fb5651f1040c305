import { describe, expect, it } from 'vitest'
import { isGloveboxError } from '../../errors/error.ts'
import { createThrottle, type Throttle } from './throttle.ts'

const limits = {
  inFlightPerToken: 2,
  streamsPerToken: 1,
  requestsPerSecond: 10,
  requestsPerSecondBesideOthers: 5,
  burst: 5,
}
const alone = { isAlone: () => true }
const patient = { wasHeld: () => false }

/** Throws what the throttle answers. */
function enter(throttle: Throttle, who: string): () => void {
  const entered = throttle.enter(who)
  if (isGloveboxError(entered)) throw entered
  return entered
}

describe('throttle', () => {
  it('forgets whoever has rested, however many there were', () => {
    let at = 0
    const throttle = createThrottle(limits, { isAlone: () => false }, patient, () => at)
    const remembered: number[] = []
    for (let count = 0; count < 20_000; count++) {
      at += 10
      enter(throttle, `address:${count}`)()
      remembered.push(throttle.size)
    }
    // A request is earned again within a second here, and a hundred come in one.
    expect(Math.max(...remembered)).toBeLessThan(2500)
    const leave = throttle.enterStream('lasting')
    for (let count = 0; count < 5000; count++) {
      at += 10
      enter(throttle, `other:${count}`)()
    }
    expect(() => throttle.enterStream('lasting')).toThrow('streams')
    leave()
  })

  it('a token has so many requests at a time, and others their own', () => {
    const throttle = createThrottle(limits, alone, patient, () => 0)
    const leave = enter(throttle, 'a')
    enter(throttle, 'a')
    expect(() => enter(throttle, 'a')).toThrow('at the same time')
    enter(throttle, 'b')
    leave()
    enter(throttle, 'a')
  })

  it('a token has so many requests in a second, and more after a rest', () => {
    let now = 0
    const throttle = createThrottle(limits, alone, patient, () => now)
    for (let made = 0; made < 5; made++) enter(throttle, 'a')()
    expect(() => enter(throttle, 'a')).toThrow('in a second')
    now = 100
    enter(throttle, 'a')()
    expect(() => enter(throttle, 'a')).toThrow('in a second')
    now = 10_000
    for (let made = 0; made < 5; made++) enter(throttle, 'a')()
    expect(() => enter(throttle, 'a')).toThrow('in a second')
  })

  it('while others ask for anything a token has fewer of them in a second', () => {
    let [now, isAlone] = [0, false]
    const throttle = createThrottle(limits, { isAlone: () => isAlone }, patient, () => now)
    for (let made = 0; made < 5; made++) enter(throttle, 'a')()
    now = 100
    expect(() => enter(throttle, 'a')).toThrow('in a second')
    now = 200
    enter(throttle, 'a')()
    // Control: alone again it has twice as many.
    isAlone = true
    now = 300
    enter(throttle, 'a')()
  })

  it('whoever was held has still fewer of them while others ask, and no fewer when it is alone', () => {
    let [now, isAlone] = [0, false]
    const throttle = createThrottle(limits, { isAlone: () => isAlone }, { wasHeld: () => true }, () => now)
    for (let made = 0; made < 5; made++) enter(throttle, 'a')()
    now = 900
    expect(() => enter(throttle, 'a')).toThrow('in a second')
    expect(throttle.enter('a')).toMatchObject({ facts: { retryAfterSeconds: 1 } })
    now = 1000
    enter(throttle, 'a')()
    isAlone = true
    now = 1100
    enter(throttle, 'a')()
    expect(throttle.enter('a')).toMatchObject({ facts: { retryAfterSeconds: 0.2 } })
  })

  it('whoever was held saves up little while others ask, and as much as anybody when it is alone', () => {
    let [now, isAlone] = [0, false]
    const wide = {
      ...limits,
      inFlightPerToken: 1000,
      burst: 256,
      requestsPerSecond: 1000,
      requestsPerSecondBesideOthers: 500,
    }
    const throttle = createThrottle(wide, { isAlone: () => isAlone }, { wasHeld: () => true }, () => now)
    const howMany = (): number => {
      let made = 0
      while (!isGloveboxError(throttle.enter('a'))) made += 1
      return made
    }
    expect(howMany()).toBe(32)
    now = 60_000
    expect(howMany()).toBe(32)
    now = 60_100
    expect(howMany(), 'its rate is what it was').toBe(10)
    isAlone = true
    now = 120_000
    expect(howMany()).toBe(256)
  })

  it('streams are counted apart', () => {
    const throttle = createThrottle(limits, alone, patient, () => 0)
    const leave = throttle.enterStream('a')
    expect(() => throttle.enterStream('a')).toThrow('open streams')
    leave()
    throttle.enterStream('a')
  })
})
