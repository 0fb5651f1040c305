import { describe, expect, it } from 'vitest'
import { parseStat } from './proc-table.ts'

const rest = '7 8 9 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 123456 1 2'

describe('a row of the process table', () => {
  it('is read after the last parenthesis of the program’s name', () => {
    expect(parseStat(5, `5 (a) Z 1 1) S ${rest}`)).toEqual({
      pid: 5,
      parent: 7,
      group: 8,
      session: 9,
      startTime: 123456,
      zombie: false,
    })
  })

  it('of a process that has ended says so', () => {
    expect(parseStat(5, `5 (sh) Z ${rest}`)?.zombie).toBe(true)
    expect(parseStat(5, `5 (sh) X ${rest}`)?.zombie).toBe(true)
  })

  it('that is cut short is no row', () => {
    expect(parseStat(5, '5 (sh) S 1 2')).toBeUndefined()
    expect(parseStat(5, '')).toBeUndefined()
  })
})
