import { describe, expect, it } from 'vitest'
import { openRedaction } from '../vaults/redaction/redaction.ts'
import { redactAnswer } from './redact-answer.ts'

const redaction = openRedaction()
redaction.learn('keys/token', Buffer.from('sesame-opens'))

describe('the answer of an action', () => {
  it('has no value in its texts, and its bytes stay readable', () => {
    const base64 = Buffer.from('\0 sesame-opens \xff', 'latin1').toString('base64')
    const told = redactAnswer(redaction, { base64, sizeBytes: 16, names: ['sesame-opens.txt'] })
    expect(told).toMatchObject({ sizeBytes: 16, names: ['[redacted:keys/token].txt'] })
    const bytes = Buffer.from((told as { base64: string }).base64, 'base64')
    expect(bytes.toString('latin1')).toBe('\0 [redacted:keys/token] \xff')
  })

  it('is the very same while nothing was handed out', () => {
    const answer = { text: 'sesame-opens' }
    expect(redactAnswer(openRedaction(), answer)).toBe(answer)
  })
})
