// The whole contract of leases, wherever they are kept.
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import type { SandboxId } from '../../../src/contract/ids.ts'
import type { LeaseAnswer, Leases } from '../../../src/contract/lease.ts'

export interface LeasesKind {
  readonly name: string
  /** An empty place, as often as it is asked for; each opening of it is another owner. */
  newPlace(): Promise<{ open(options: { readonly ttlMs: number }): Leases; close(): Promise<void> }>
}

const long = 60_000
const short = 300
const aWhileBeyond = short + 150
/** Long enough that it is not over again before somebody has asked, on a busy machine too. */
const middling = 1_500

const id = (name: string): SandboxId => `sbx_${name.padEnd(16, '0')}`
const one = id('a')

function tokenOf(answer: LeaseAnswer): number {
  if (!answer.granted) throw new Error(`refused: ${answer.state}`)
  return answer.token
}

export function describeLeases({ name, newPlace }: LeasesKind): void {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
  })

  const owners = async (count: number, ttlMs = long): Promise<readonly [Leases, Leases, ...Leases[]]> => {
    const place = await newPlace()
    closing.push(() => place.close())
    const all = Array.from({ length: Math.max(2, count) }, () => place.open({ ttlMs }))
    closing.push(async () => void (await Promise.all(all.map((each) => each.close()))))
    return all as unknown as readonly [Leases, Leases, ...Leases[]]
  }

  describe(`leases in ${name}`, () => {
    it('of many that take at once, one is granted and the others are refused', async () => {
      const all = await owners(8)
      for (const round of ['a', 'b', 'c', 'd', 'e']) {
        const answers = await Promise.all(all.map((leases) => leases.take(id(round))))
        expect(answers.filter(({ granted }) => granted)).toHaveLength(1)
        expect(answers.filter(({ granted }) => !granted)).toEqual(
          Array.from({ length: all.length - 1 }, () => ({ granted: false, state: 'active' })),
        )
      }
    })

    it('a token is higher than every token that was granted before, also after the lease was dropped', async () => {
      const [first, second] = await owners(2)
      const tokens: number[] = []
      for (const leases of [first, second, first, second]) {
        const token = tokenOf(await leases.take(one))
        tokens.push(token)
        await leases.drop({ id: one, token })
      }
      tokens.push(tokenOf(await first.take(one)), tokenOf(await second.take(id('b'))))
      expect(tokens).toEqual(tokens.toSorted((left, right) => left - right))
      expect(new Set(tokens).size).toBe(tokens.length)
    })

    it('tokens that are granted at once are all different, and rise for each id', async () => {
      const all = await owners(4)
      const seen: number[] = []
      for (let round = 0; round < 5; round += 1) {
        const answers = await Promise.all(all.map((leases, index) => leases.take(id(`r${index}`))))
        const tokens = answers.map(tokenOf)
        expect(Math.min(...tokens)).toBeGreaterThan(Math.max(0, ...seen))
        seen.push(...tokens)
      }
      expect(new Set(seen).size).toBe(20)
    })

    it('what is granted tells how the lease was found', async () => {
      const [first, second] = await owners(2)
      const none = await first.take(one)
      expect(none).toMatchObject({ granted: true, former: { was: 'none' } })
      const token = tokenOf(none)
      const own = await first.take(one)
      expect(own).toMatchObject({ granted: true, former: { was: 'own', token, state: 'active' } })
      await first.park({ id: one, token: tokenOf(own) })
      expect(await second.take(one)).toMatchObject({
        granted: true,
        former: { was: 'parked', token: tokenOf(own), state: 'warm' },
      })
    })

    it('while a lease is being destroyed it is refused to whoever would use it', async () => {
      const [first, second] = await owners(2)
      const token = tokenOf(await first.take(one))
      const condemned = tokenOf(await first.condemn(one, { token }))
      expect(condemned).toBeGreaterThan(token)
      const no = { granted: false, state: 'destroying' }
      expect(await Promise.all([first.take(one), second.take(one), second.condemn(one)])).toEqual([no, no, no])
      await first.drop({ id: one, token: condemned })
      expect(await second.take(one)).toMatchObject({ granted: true, former: { was: 'none' } })
    })

    it('to destroy one needs the present token, or a lease that is over', async () => {
      const [first, second] = await owners(2)
      const token = tokenOf(await first.take(one))
      expect(await first.condemn(one, { token: token - 1 })).toMatchObject({ granted: false })
      expect(await second.condemn(one, { token })).toMatchObject({ granted: false })
      expect(await second.condemn(one)).toMatchObject({ granted: false })
      await first.park({ id: one, token })
      expect(await second.condemn(one), 'parked is owned too').toMatchObject({ granted: false, state: 'warm' })
      expect(await second.condemn(id('b')), 'nobody ever had it').toMatchObject({ granted: true })
      const [sleeper, other] = await owners(2, short)
      await sleeper.take(one)
      await delay(aWhileBeyond)
      expect(await other.condemn(one)).toMatchObject({ granted: true, former: { was: 'expired', state: 'active' } })
    })

    it('who destroys already may begin anew, with whatever token', async () => {
      const [first] = await owners(1)
      const token = tokenOf(await first.take(one))
      const lostAnswer = tokenOf(await first.condemn(one, { token }))
      const again = await first.condemn(one, { token })
      expect(tokenOf(again)).toBeGreaterThan(lostAnswer)
    })

    it('a parked lease is still renewed by its owner, and granted to whoever takes it', async () => {
      const [first, second] = await owners(2, middling)
      const token = tokenOf(await first.take(one))
      expect(await first.park({ id: one, token })).toBe(true)
      for (let beat = 0; beat < 4; beat += 1) {
        await delay(middling / 3)
        expect(await first.renew([{ id: one, token }])).toEqual(new Set([one]))
      }
      expect(await first.list()).toEqual([{ id: one, owner: first.owner, token, state: 'warm', isOver: false }])
      expect(await second.take(one)).toMatchObject({ granted: true, former: { was: 'parked', token } })
      expect(await first.renew([{ id: one, token }])).toEqual(new Set())
      expect(await first.park({ id: one, token })).toBe(false)
    })

    it('a lease that is not renewed is over, and whoever wants it may take it', async () => {
      const [first, second] = await owners(2, short)
      const token = tokenOf(await first.take(one))
      await delay(aWhileBeyond)
      expect(await second.list()).toEqual([{ id: one, owner: first.owner, token, state: 'active', isOver: true }])
      expect(await second.take(one)).toMatchObject({
        granted: true,
        former: { was: 'expired', token, state: 'active' },
      })
    })

    it('a lease that nobody took is renewed even after its time, and one that was taken never again', async () => {
      const ttlMs = middling
      const [first, second] = await owners(2, ttlMs)
      const a = { id: one, token: tokenOf(await first.take(one)) }
      const b = { id: id('b'), token: tokenOf(await first.take(id('b'))) }
      await delay(ttlMs + 150)
      await second.take(b.id)
      expect(await first.renew([a, b])).toEqual(new Set([a.id]))
      expect(await second.take(a.id)).toEqual({ granted: false, state: 'active' })
      await delay(ttlMs + 150)
      expect(await first.renew([b]), 'even when the taker has let it expire').toEqual(new Set())
    })

    it('a lease is dropped by its token alone; with an older one nothing changes', async () => {
      const [first, second] = await owners(2)
      const old = tokenOf(await first.take(one))
      await first.park({ id: one, token: old })
      const present = tokenOf(await second.take(one))
      await first.drop({ id: one, token: old })
      await second.drop({ id: one, token: old })
      expect((await first.list()).map(({ owner, token }) => [owner, token])).toEqual([[second.owner, present]])
      await second.drop({ id: one, token: present })
      expect(await first.list()).toEqual([])
    })

    it('renewing nothing is no error, and many are renewed together', async () => {
      const [first] = await owners(1)
      expect(await first.renew([])).toEqual(new Set())
      const held = []
      for (let index = 0; index < 120; index += 1) {
        const each = id(`m${index}x`)
        held.push({ id: each, token: tokenOf(await first.take(each)) })
      }
      expect((await first.renew(held)).size).toBe(120)
    })
  })
}
