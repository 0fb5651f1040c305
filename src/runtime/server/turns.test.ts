import { describe, expect, it } from 'vitest'
import { openTurns } from './turns.ts'

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('turns', () => {
  it('give so many at a time and no more', async () => {
    const turns = openTurns(2)
    const order: string[] = []
    const leaves: (() => void)[] = []
    for (const name of ['a', 'b', 'c'])
      void turns.take(name).then((leave) => {
        order.push(name)
        leaves.push(leave)
      })
    await settle()
    expect(order).toEqual(['a', 'b'])
    leaves[0]?.()
    leaves[0]?.()
    await settle()
    expect(order).toEqual(['a', 'b', 'c'])
  })

  it('lets whatever else has arrived come between two of them', async () => {
    const turns = openTurns(4)
    const order: string[] = []
    const making = Array.from({ length: 8 }, async (_, index) => {
      const leave = await turns.take('crowd')
      order.push(`made ${index}`)
      leave()
      // As an answer that reaches the caller, who then uses what he has.
      setImmediate(() => order.push(`used ${index}`))
    })
    await Promise.all(making)
    await settle()
    await settle()
    expect(order.indexOf('used 0')).toBeLessThan(order.indexOf('made 3'))
    expect(order).toHaveLength(16)
  })

  it('whoever asks for much does not delay whoever asks for little', async () => {
    const turns = openTurns(1)
    const order: string[] = []
    const work = async (who: string): Promise<void> => {
      const leave = await turns.take(who)
      order.push(who)
      await settle()
      leave()
    }
    await Promise.all([...Array.from({ length: 5 }, () => work('greedy')), work('modest')])
    expect(order.indexOf('modest')).toBeLessThanOrEqual(2)
    expect(order).toHaveLength(6)
  })
})
