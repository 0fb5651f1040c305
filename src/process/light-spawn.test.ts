import { describe, expect, it } from 'vitest'
import { endOf } from './light-spawn.ts'

describe('the end of a child as wait(2) tells it', () => {
  it('is a code, or a signal by its name', () => {
    expect(endOf(0)).toEqual({ code: 0, signal: null })
    expect(endOf(125 << 8)).toEqual({ code: 125, signal: null })
    expect(endOf(9)).toEqual({ code: null, signal: 'SIGKILL' })
    expect(endOf(15 | 0x80), 'with a core').toEqual({ code: null, signal: 'SIGTERM' })
  })
})
