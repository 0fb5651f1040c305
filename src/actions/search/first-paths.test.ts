import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { firstPaths, inOrder } from './first-paths.ts'

const name = fc.string({ unit: fc.constantFrom('a', 'b', '-', '.', 'é'), minLength: 1, maxLength: 3 })
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => `/${names.join('/')}`)

describe('the first paths', () => {
  it('are the first part of the whole, in whatever order they came', () => {
    fc.assert(
      fc.property(fc.array(path, { maxLength: 60 }), fc.integer({ min: 1, max: 20 }), (all, wanted) => {
        const kept = firstPaths(wanted)
        all.forEach((each) => kept.take(each))
        expect(kept.paths()).toEqual(inOrder(all).slice(0, wanted))
        expect(kept.isCut).toBe(all.length > wanted)
      }),
    )
  })

  it('go name by name', () => {
    expect(inOrder(['/a-b', '/a/c', '/a.txt', '/a'])).toEqual(['/a', '/a/c', '/a-b', '/a.txt'])
  })
})
