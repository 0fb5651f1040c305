import { describe, expect, it } from 'vitest'
import { policyOverridesSchema } from '../contract/exec-record.ts'
import { GloveboxError, isGloveboxError } from '../errors/error.ts'
import { policyFields } from '../policy/fields.ts'
import { resolvePolicy } from '../policy/resolve.ts'
import { inCallersWords, toPolicyValues, toSnapshot } from './policy-words.ts'

const refusal = (values: object): GloveboxError => {
  try {
    resolvePolicy([{ layer: 'request', source: 'policy_overrides', values }])
  } catch (error) {
    if (isGloveboxError(error)) return inCallersWords(error)
  }
  throw new Error('it was not refused')
}

describe('policy in the words of a caller', () => {
  it('knows every field that the API has, and each is a field of policy', () => {
    const names = Object.keys(policyOverridesSchema.shape)
    const asked = Object.fromEntries(names.map((name) => [name, name]))
    const values = toPolicyValues(asked)
    expect(new Set(Object.values(values))).toEqual(new Set(names))
    expect(Object.keys(values).filter((field) => !(policyFields as readonly string[]).includes(field))).toEqual([])
    // A record has them under the same names.
    expect(Object.keys(toSnapshot(resolvePolicy([]).effective))).toEqual(expect.arrayContaining(names))
    expect(toPolicyValues({ pids: undefined })).toEqual({})
  })

  it('a refusal names the field as it was written, also within a list', () => {
    const tooLong = refusal({ timeoutMs: 3e9 })
    expect([tooLong.code, tooLong.facts]).toEqual(['INVALID_INPUT', { fields: ['policy_overrides.timeout_ms'] }])
    expect(tooLong.message).toMatch(/^Cannot use policy value policy_overrides\.timeout_ms: /)
    const inList = refusal({ network: { mode: 'allowlist', allow: ['a', 'b c'] } })
    expect(inList.facts).toEqual({ fields: ['policy_overrides.net.allow.1'] })
    const above = refusal({ pids: 513 })
    expect(above.facts).toMatchObject({ field: 'policy_overrides.pids', fields: ['policy_overrides.pids'], asked: 513 })
    expect(refusal({ secrets: ['keys/token'] }).facts).toMatchObject({ fields: ['exec.secrets'] })
  })

  it('a refusal for something else stays as it is', () => {
    const other = new GloveboxError('POLICY_DENIED', 'Cannot do it', { facts: { field: 'mounts' } })
    expect(inCallersWords(other)).toBe(other)
    const without = new GloveboxError('POLICY_DENIED', 'Cannot do it')
    expect(inCallersWords(without)).toBe(without)
  })
})
