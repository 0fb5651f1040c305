import { describe, expect, it } from 'vitest'
import { entryBytes, openShelf } from './shelf.ts'

describe('a shelf', () => {
  const setUp = (maxBytes: number) => {
    const removed: string[] = []
    const shelf = openShelf(maxBytes)
    return { removed, put: (name: string, bytes: number) => shelf.put(bytes, () => removed.push(name)) }
  }

  it('lets the oldest go when there is no more room', () => {
    const { removed, put } = setUp(100 + 2 * entryBytes)
    for (const name of ['a', 'b', 'c']) put(name, 50)
    expect(removed).toEqual(['a'])
  })

  it('holds what said nothing only as long as there is room for it', () => {
    const { removed, put } = setUp(10 * entryBytes)
    for (let count = 0; count < 1000; count++) put(`${count}`, 0)
    expect(removed).toHaveLength(990)
    expect(removed.at(-1)).toBe('989')
  })

  it('has room again for what was taken off, and never removes that', () => {
    const { removed, put } = setUp(2 * entryBytes)
    const takeOff = put('a', 0)
    put('b', 0)
    takeOff()
    takeOff()
    put('c', 0)
    expect(removed).toEqual([])
    put('d', 0)
    expect(removed).toEqual(['b'])
  })

  it('does not hold what is larger than all of it', () => {
    const { removed, put } = setUp(entryBytes)
    put('a', 1)
    expect(removed).toEqual(['a'])
  })
})
