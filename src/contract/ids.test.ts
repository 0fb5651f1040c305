import { describe, expect, it } from 'vitest'
import { chance } from './chance.ts'
import { isSandboxId, newExecId, newSandboxId, newShellId } from './ids.ts'

describe('an id', () => {
  it('has its prefix and 32 small hexadecimal digits', () => {
    expect(newSandboxId()).toMatch(/^sbx_[0-9a-f]{32}$/)
    expect(newExecId()).toMatch(/^exec_[0-9a-f]{32}$/)
    expect(newShellId()).toMatch(/^sh_[0-9a-f]{32}$/)
    expect(isSandboxId(newSandboxId())).toBe(true)
  })

  it('has nothing in common with others of the same moment: no beginning, and no bit that is always the same', () => {
    const made = Array.from({ length: 1000 }, chance)
    // By chance two of them begin with the same 64 bits once in 10^13 times.
    expect(new Set(made.map((digits) => digits.slice(0, 16))).size).toBe(1000)
    const neighbours = made.slice(1).filter((digits, index) => digits.slice(0, 8) === made[index]?.slice(0, 8))
    expect(neighbours).toEqual([])
    const settled = Array.from({ length: 128 }, (_, bit) => bit).filter((bit) => {
      const set = made.filter((digits) => (Number.parseInt(digits[bit >> 2] ?? '0', 16) >> (bit & 3)) % 2 === 1)
      return set.length < 300 || set.length > 700
    })
    expect(settled).toEqual([])
  })
})
