import { describe, expect, it } from 'vitest'
import { endingOf, overLimit } from './ending.ts'

const reason = 'artifacts_limit_exceeded'

describe('an exec that leaves more than it may', () => {
  it.each([0, 3])('and ended by itself with %i has failed, and its own code stays told', (code) => {
    const ended = overLimit(endingOf({ by: 'exit', code }, undefined))
    expect(ended).toMatchObject({ status: 'FAILED', error_reason: reason, exit_code: code })
  })

  it('and was ended for it has failed, without a code of its own', () => {
    const ended = overLimit(endingOf({ by: 'cancel', afterMs: 1 }, reason))
    expect(ended).toMatchObject({ status: 'FAILED', error_reason: reason, exit_code: null })
  })

  it('and was ended for another reason has ended for that one', () => {
    const late = overLimit(endingOf({ by: 'timeout', afterMs: 1 }, undefined))
    expect(late).toMatchObject({ status: 'TIMEOUT', error_reason: 'timeout', exit_code: null })
  })
})
