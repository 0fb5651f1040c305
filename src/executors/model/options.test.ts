import { describe, expect, it } from 'vitest'
import { GloveboxError } from '../../errors/error.ts'
import { checkModelOptions, keyVariable, type ModelChoice } from './check.ts'
import { createModelExecutor } from './executor.ts'
import { modelOptionsSchema } from './options.ts'

const openAi = modelOptionsSchema.parse({ baseUrl: 'https://host/v1', model: 'm' })
const anthropic = modelOptionsSchema.parse({ provider: 'anthropic', model: 'm' })

function refusalOf(choice: ModelChoice): GloveboxError {
  try {
    checkModelOptions(choice)
  } catch (error) {
    if (error instanceof GloveboxError) return error
  }
  throw new Error('it was not refused')
}

describe('model options', () => {
  it('have a bound for everything without being asked', () => {
    expect(modelOptionsSchema.parse({})).toMatchObject({
      provider: 'openai-compatible',
      maxSteps: 50,
      maxTokens: 2_000_000,
      timeoutMs: 1_800_000,
      maxRetries: 4,
      toolset: 'core',
    })
  })

  it.each([
    ['a key in place of its variable', { apiKeyEnv: 'sk-12345' }],
    ['a password in the address', { baseUrl: 'https://me:secret@host/v1' }],
    ['a query in the address', { baseUrl: 'https://host/v1?key=secret' }],
    ['an address of another kind', { baseUrl: 'file:///etc/passwd' }],
    ['no step at all', { maxSteps: 0 }],
    ['a misspelt name', { maxToken: 5 }],
    ['an unknown provider', { provider: 'oracle' }],
  ])('%s is refused', (_what, given) => {
    expect(modelOptionsSchema.safeParse(given).success).toBe(false)
  })
})

describe('checkModelOptions', () => {
  it('answers with the endpoint when everything is set', () => {
    expect(checkModelOptions({ options: openAi, apiKey: 'k' })).toEqual({
      provider: 'openai-compatible',
      baseUrl: 'https://host/v1',
      model: 'm',
      apiKey: 'k',
    })
    expect(checkModelOptions({ options: anthropic, apiKey: 'k' }).baseUrl).toBe('https://api.anthropic.com/v1')
  })

  it('names the variable that is not set', () => {
    expect(refusalOf({ options: openAi, apiKey: undefined }).message).toContain('OPENAI_API_KEY')
    expect(refusalOf({ options: anthropic, apiKey: ' ' }).hint).toContain('ANTHROPIC_API_KEY')
    const own = { ...openAi, apiKeyEnv: 'MY_KEY' }
    expect(refusalOf({ options: own, apiKey: undefined }).message).toBe(
      'Cannot ask a model: there is no key in MY_KEY.',
    )
  })

  it('names the setting that is missing', () => {
    expect(refusalOf({ options: undefined, apiKey: 'k' }).hint).toContain('model:')
    expect(refusalOf({ options: { ...openAi, baseUrl: undefined }, apiKey: 'k' }).hint).toContain('model.baseUrl')
    expect(refusalOf({ options: { ...openAi, model: undefined }, apiKey: 'k' }).hint).toContain('model.model')
  })

  it('a value that no header can carry is refused without being quoted', () => {
    const refusal = refusalOf({ options: openAi, apiKey: 'sk-secret\n' })
    expect(refusal.message + String(refusal.hint)).not.toContain('sk-secret')
  })

  it('an endpoint without keys needs none, if that is said', () => {
    const local = { ...openAi, apiKeyEnv: null }
    expect(keyVariable(local)).toBeUndefined()
    expect(checkModelOptions({ options: local, apiKey: undefined }).apiKey).toBe('')
  })

  it('an executor cannot be made of options that do not suffice', () => {
    const create = () => createModelExecutor({ options: openAi, apiKey: undefined, tools: () => [] })
    expect(create).toThrow('OPENAI_API_KEY')
  })
})
