import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLanes, type Lanes } from './lanes.ts'
import { createPresence } from './presence.ts'

beforeEach(
  () =>
    void vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'performance'],
    }),
)
afterEach(() => void vi.useRealTimers())

const patient = { wasHeld: () => false }

/** Asks for so many pieces of work, and keeps what ends each. */
function ask(lanes: Lanes, who: string, count: number): (() => void)[] {
  const begun: (() => void)[] = []
  for (let each = 0; each < count; each++) void lanes.take(who).then(({ leave }) => begun.push(leave))
  return begun
}
const settle = async (ms = 0): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms)
}

describe('lanes', () => {
  it('whoever is alone waits for nothing', async () => {
    const presence = createPresence()
    const lanes = createLanes(presence, patient)
    presence.seen('a')
    const begun = ask(lanes, 'a', 100)
    await settle()
    expect(begun).toHaveLength(100)
  })

  it('while another asks for anything, one piece of each is under way, in order', async () => {
    const presence = createPresence()
    const lanes = createLanes(presence, patient)
    presence.seen('b')
    presence.seen('a')
    const [ofA, ofB] = [ask(lanes, 'a', 3), ask(lanes, 'b', 2)]
    await settle()
    expect([ofA.length, ofB.length]).toEqual([1, 1])
    ofA[0]?.()
    await settle(1)
    expect([ofA.length, ofB.length]).toEqual([2, 1])
    // Leaving twice is leaving once.
    ofA[0]?.()
    await settle(1)
    expect(ofA).toHaveLength(2)
  })

  it('a crowd leaves others several times as long as each of its pieces took', async () => {
    const presence = createPresence()
    const lanes = createLanes(presence, patient)
    presence.seen('b')
    presence.seen('a')
    const begun = ask(lanes, 'a', 20)
    await settle(5)
    begun[0]?.()
    await settle(19)
    expect(begun).toHaveLength(1)
    await settle(1)
    expect(begun).toHaveLength(2)
  })

  it('a crowd of whoever was held leaves them much longer, to its last piece', async () => {
    let wasHeld = true
    const presence = createPresence()
    const lanes = createLanes(presence, { wasHeld: () => wasHeld })
    const bothAsk = (): void => ['b', 'a'].forEach((who) => presence.seen(who))
    bothAsk()
    const asking = setInterval(bothAsk, 10)
    const begun = ask(lanes, 'a', 20)
    await settle(5)
    begun[0]?.()
    await settle(1999)
    expect(begun).toHaveLength(1)
    await settle(1)
    expect(begun).toHaveLength(2)
    // It is forgotten that it was held; this crowd is still the same.
    wasHeld = false
    await settle(5)
    begun[1]?.()
    await settle(1999)
    expect(begun).toHaveLength(2)
    // The last ones, too: they would come in a rush.
    for (let each = 2; each < 20; each += 1) {
      await settle(1)
      expect(begun).toHaveLength(each + 1)
      await settle(5)
      begun[each]?.()
      await settle(1999)
    }
    clearInterval(asking)
  })

  it('whoever was held and asks for one piece after another by now waits no longer than it is remembered', async () => {
    let wasHeld = true
    const presence = createPresence()
    const lanes = createLanes(presence, { wasHeld: () => wasHeld })
    const bothAsk = (): void => ['b', 'a'].forEach((who) => presence.seen(who))
    bothAsk()
    const asking = setInterval(bothAsk, 10)
    const first = ask(lanes, 'a', 1)
    await settle(5)
    first[0]?.()
    const second = ask(lanes, 'a', 1)
    await settle(1999)
    expect(second).toHaveLength(0)
    await settle(1)
    expect(second).toHaveLength(1)
    wasHeld = false
    await settle(5)
    second[0]?.()
    const third = ask(lanes, 'a', 1)
    await settle(1)
    expect(third).toHaveLength(1)
    clearInterval(asking)
  })

  it('of a crowd of whoever was held those who would wait too long are refused, the last ones first', async () => {
    const presence = createPresence()
    const lanes = createLanes(presence, { wasHeld: () => true })
    const bothAsk = (): void => ['b', 'a'].forEach((who) => presence.seen(who))
    bothAsk()
    const asking = setInterval(bothAsk, 10)
    const told: { readonly each: number; readonly why: unknown }[] = []
    const take = (each: number): Promise<(() => void) | undefined> =>
      lanes.take('a').then(
        ({ leave }) => leave,
        (why: unknown) => void told.push({ each, why }),
      )
    const [first] = Array.from({ length: 100 }, (_, each) => take(each))
    await settle(5)
    expect(told, 'it is not known yet').toEqual([])
    ;(await first)?.()
    await settle(100)
    expect(told.map(({ each }) => each)).toEqual(Array.from({ length: 69 }, (_, each) => 99 - each))
    expect(told[0]?.why).toMatchObject({ code: 'TOO_MANY_REQUESTS', facts: { retryAfterSeconds: 60 } })
    void take(100)
    await settle(10)
    expect(told.at(-1)?.each, 'whoever comes later, too').toBe(100)
    clearInterval(asking)
  })

  it('beside others only as many of a crowd wait as a token may have sandboxes, and that is known before one is asked for', async () => {
    const presence = createPresence()
    const lanes = createLanes(presence, patient)
    const asks = (): void => ['b', 'a'].forEach((who) => presence.seen(who))
    asks()
    const asking = setInterval(asks, 10)
    const refused: unknown[] = []
    const take = (): void => void lanes.take('a').catch((why: unknown) => refused.push(why))
    // One of them begins.
    for (let each = 0; each < 128; each += 1) take()
    expect(lanes.refusalOf('a')).toBeUndefined()
    take()
    expect(lanes.refusalOf('a')).toMatchObject({ code: 'TOO_MANY_REQUESTS', facts: { retryAfterSeconds: 5 } })
    expect(lanes.refusalOf('b'), 'another is not asked to wait for it').toBeUndefined()
    await settle(10)
    expect(refused).toEqual([])
    // Some are always on their way from the door to here.
    take()
    await settle(10)
    expect(refused).toMatchObject([{ code: 'TOO_MANY_REQUESTS' }])
    clearInterval(asking)
    await settle(300)
    expect(lanes.refusalOf('a'), 'whoever is alone waits for nobody').toBeUndefined()
  })

  it('a piece is told that it is one of a crowd while many wait behind it and others are there', async () => {
    const presence = createPresence()
    const lanes = createLanes(presence, patient)
    const told: boolean[] = []
    const take = async (who: string): Promise<void> => {
      const { leave, isOfCrowd } = await lanes.take(who)
      told.push(isOfCrowd)
      leave()
    }
    const asks = (): void => ['b', 'a'].forEach((who) => presence.seen(who))
    asks()
    const asking = setInterval(asks, 10)
    const all = Promise.all(Array.from({ length: 11 }, () => take('a')))
    await settle(1000)
    await all
    clearInterval(asking)
    // The first came when none was behind it.
    expect(told).toEqual([false, true, true, ...Array.from({ length: 8 }, () => false)])
    await settle(1000)
    told.length = 0
    const alone = Promise.all(Array.from({ length: 11 }, () => take('a')))
    await settle()
    await alone
    expect(told).toEqual(Array.from({ length: 11 }, () => false))
  })

  it('once the others are gone, all of it goes on', async () => {
    const presence = createPresence()
    const lanes = createLanes(presence, patient)
    presence.seen('b')
    presence.seen('a')
    const begun = ask(lanes, 'a', 20)
    await settle(40)
    expect(begun).toHaveLength(1)
    await settle(300)
    begun[0]?.()
    await settle(1)
    expect(begun).toHaveLength(20)
  })

  it('a piece that takes long lets the next begin', async () => {
    const presence = createPresence()
    const lanes = createLanes(presence, patient)
    presence.seen('b')
    presence.seen('a')
    const begun = ask(lanes, 'a', 2)
    await settle(49)
    expect(begun).toHaveLength(1)
    await settle(2)
    expect(begun).toHaveLength(2)
  })
})
