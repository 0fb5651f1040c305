import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutEnd, cutMiddle, headOf, tailOf } from './cut.ts'

const text = fc.string({ unit: 'binary', maxLength: 300 })
const torn = /\p{Surrogate}/u

describe('cutting', () => {
  it('keeps within the bound, never tears a surrogate pair, and tells how much is missing', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 30, max: 200 }), (whole, max) => {
        const { text: cut, cutCharacters } = cutMiddle(whole, max, (count) => `[${count} cut]`)
        expect(cut.length).toBeLessThanOrEqual(max)
        expect(cut).not.toMatch(torn)
        const marker = `[${cutCharacters} cut]`
        if (whole.length <= max) expect([cut, cutCharacters]).toEqual([whole, 0])
        else expect(cut.length - marker.length + cutCharacters).toBe(whole.length)
      }),
    )
  })

  it('keeps the beginning and the end', () => {
    const { text: cut } = cutMiddle(`${'a'.repeat(500)}${'z'.repeat(500)}`, 100, (count) => `<${count}>`)
    expect(cut).toMatch(/^a{40,}<\d+>z{40,}$/)
  })

  it('does not tear pairs at either edge', () => {
    fc.assert(
      fc.property(text, fc.nat(300), (whole, length) => {
        expect(headOf(whole, length)).not.toMatch(torn)
        expect(tailOf(whole, length)).not.toMatch(torn)
        expect(headOf(whole, length).length).toBeLessThanOrEqual(length)
        expect(tailOf(whole, length).length).toBeLessThanOrEqual(length)
      }),
    )
  })

  it('at the end stops after a whole line where it can', () => {
    expect(cutEnd('one\ntwo\nthree', 9, '…')).toBe('one\ntwo\n…')
    expect(cutEnd('onetwothree', 5, '…')).toBe('onet…')
    expect(cutEnd('short', 5, '…')).toBe('short')
  })
})
