import { describe, expect, it } from 'vitest'
import { closeAll } from './close-all.ts'

describe('what is closed together', () => {
  it('is closed in its order, whatever cannot be, and the faults are told at the end', async () => {
    const seen: string[] = []
    const close = (name: string, fault?: Error) => async () => {
      seen.push(name)
      if (fault !== undefined) throw fault
    }
    const [one, other] = [new Error('one'), new Error('other')]
    await expect(closeAll([close('a'), close('b', one), close('c')])).rejects.toBe(one)
    await expect(closeAll([close('d', one), close('e', other), close('f')])).rejects.toMatchObject({
      errors: [one, other],
    })
    await closeAll([close('g')])
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'])
  })
})
