// What an action answers, without values. Bytes travel as base64, in which a value would leave a hole that nobody can read
// around; so they are looked at as what they are.
import type { Redaction } from '../contract/redaction.ts'

export function redactAnswer(redaction: Redaction, answer: unknown): unknown {
  if (!redaction.isActive) return answer
  return redaction.json(hasBytes(answer) ? { ...answer, base64: redactBase64(redaction, answer.base64) } : answer)
}

const hasBytes = (answer: unknown): answer is { readonly base64: string } =>
  typeof answer === 'object' && answer !== null && 'base64' in answer && typeof answer.base64 === 'string'

const redactBase64 = (redaction: Redaction, base64: string): string =>
  Buffer.from(redaction.bytes(Buffer.from(base64, 'base64'))).toString('base64')
