import { describe, expect, it } from 'vitest'
import { countWork } from './at-work.ts'
import { admittance } from './quota.ts'

const refused = expect.objectContaining({ code: 'QUOTA_EXCEEDED' })

describe('a quota', () => {
  it('lets in all that are wanted at once or none, and what it refuses counts for nothing', () => {
    const work = countWork()
    const admit = admittance({ most: 3, count: () => 1, what: 'sandboxes', work })
    expect(() => admit('one', 3)).toThrow(refused)
    expect(work.count).toBe(0)
    const leave = admit('one', 2)
    expect(work.count).toBe(1)
    expect(() => admit('one')).toThrow(refused)
    admit('other', 2)()
    leave()
    expect(work.count).toBe(0)
    admit('one', 2)()
  })
})
