import { describe, expect, it } from 'vitest'
import { createPace } from './pace.ts'

const passMs = (ms: number): void => {
  const until = performance.now() + ms
  while (performance.now() < until);
}

describe('a pace', () => {
  it('lets others go first once enough time has passed, and goes on from then', async () => {
    const pace = createPace()
    passMs(11)
    const order: string[] = []
    setImmediate(() => order.push('somebody else'))
    const rest = pace.rest()
    expect(rest).toBeInstanceOf(Promise)
    await rest
    expect(order).toEqual(['somebody else'])
    passMs(11)
    expect(pace.rest()).toBeInstanceOf(Promise)
  })
})
