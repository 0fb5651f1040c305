import { describe, expect, it } from 'vitest'
import { openTurnstile } from './turnstile.ts'

const later = <T>(): { promise: Promise<T>; resolve(value: T): void } => {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((settle) => (resolve = settle))
  return { promise, resolve: (value) => resolve(value) }
}

describe('a turnstile', () => {
  it('refuses a change while somebody is inside, and lets it through afterwards', async () => {
    const turnstile = openTurnstile()
    const work = later<void>()
    const inside = turnstile.use(() => work.promise)
    await expect(turnstile.change(async () => 1)).rejects.toMatchObject({ code: 'BUSY' })
    work.resolve()
    await inside
    expect(await turnstile.change(async () => 1)).toBe(1)
  })

  it('lets users wait for a change, and one change for another', async () => {
    const turnstile = openTurnstile()
    const first = later<void>()
    const seen: string[] = []
    const changes = [
      turnstile.change(async () => {
        await first.promise
        seen.push('first')
      }),
      turnstile.change(async () => void seen.push('second')),
    ]
    const user = turnstile.use(async () => void seen.push('user'))
    await Promise.resolve()
    expect(seen).toEqual([])
    first.resolve()
    // Whoever of the second change and the user comes first, the other is told or waits.
    await Promise.allSettled([...changes, user])
    expect(seen[0]).toBe('first')
    expect(seen).toContain('user')
  })

  it('goes on after a change that failed', async () => {
    const turnstile = openTurnstile()
    await expect(turnstile.change(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await turnstile.use(async () => 'used')).toBe('used')
    await turnstile.settled()
  })
})
