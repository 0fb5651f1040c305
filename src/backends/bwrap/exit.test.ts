import { describe, expect, it } from 'vitest'
import { readExit } from './exit.ts'

const ended = (code: number | null, signal: NodeJS.Signals | null = null) => ({ code, signal })

describe("what bwrap's end says of the command's", () => {
  it('a code that bwrap reported is the code of the command', () => {
    expect(readExit(ended(3), 3, false)).toEqual({ code: 3 })
    expect(readExit(ended(0), 0, false)).toEqual({ code: 0 })
    expect(readExit(ended(128), 128, false)).toEqual({ code: 128 })
  })

  it('128 and a signal number is the signal', () => {
    expect(readExit(ended(137), 137, false)).toEqual({ signal: 'SIGKILL' })
    expect(readExit(ended(143), 143, false)).toEqual({ signal: 'SIGTERM' })
    expect(readExit(ended(168), 168, false)).toEqual({ signal: 'SIG40' })
  })

  it('255 is a code, since no signal has that number', () => {
    expect(readExit(ended(255), 255, false)).toEqual({ code: 255 })
  })

  it('without a report the command never began', () => {
    expect(readExit(ended(1), undefined, false)).toHaveProperty('setupFailed')
    expect(readExit({ ...ended(null), error: new Error('ENOENT') }, undefined, false)).toHaveProperty('setupFailed')
  })

  it('without a report after our own kill it was killed', () => {
    expect(readExit(ended(null, 'SIGKILL'), undefined, true)).toEqual({ signal: 'SIGKILL' })
  })

  it('bwrap ended by somebody else is lost, never a guess', () => {
    expect(readExit(ended(null, 'SIGKILL'), undefined, false)).toHaveProperty('lost')
  })
})
