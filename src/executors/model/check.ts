// Whether a model can be asked at all. Answered before a run or a sandbox exists, with the name of what has to be set.
import { GloveboxError } from '../../errors/error.ts'
import type { ModelOptions } from './options.ts'

const customary = {
  'openai-compatible': { keyVariable: 'OPENAI_API_KEY', baseUrl: undefined, example: 'https://api.openai.com/v1' },
  anthropic: {
    keyVariable: 'ANTHROPIC_API_KEY',
    baseUrl: 'https://api.anthropic.com/v1',
    example: 'https://api.anthropic.com/v1',
  },
} as const

/** The variable from which the runtime takes the key. Undefined: the endpoint wants none. */
export function keyVariable({ provider, apiKeyEnv }: Pick<ModelOptions, 'provider' | 'apiKeyEnv'>): string | undefined {
  return apiKeyEnv === undefined ? customary[provider].keyVariable : (apiKeyEnv ?? undefined)
}

export interface Endpoint {
  readonly provider: ModelOptions['provider']
  readonly baseUrl: string
  readonly model: string
  /** Empty where the endpoint wants none. */
  readonly apiKey: string
}

export interface ModelChoice {
  /** Undefined: the settings say nothing of a model. */
  readonly options: ModelOptions | undefined
  readonly apiKey: string | undefined
}

export function checkModelOptions({ options, apiKey }: ModelChoice): Endpoint {
  if (options === undefined) {
    throw unset('there is no "model:" in the settings', 'Add model: { provider, baseUrl, model } to glovebox.yaml.')
  }
  const { provider, model } = options
  const { example } = customary[provider]
  const baseUrl = options.baseUrl ?? customary[provider].baseUrl
  if (baseUrl === undefined) throw unset('no endpoint is set', `Set model.baseUrl, for example to ${example}.`)
  if (model === undefined) throw unset('no model is named', 'Set model.model to the name that the provider gives it.')
  return { provider, baseUrl, model, apiKey: checkKey(keyVariable(options), apiKey) }
}

function checkKey(variable: string | undefined, apiKey: string | undefined): string {
  if (variable === undefined) return ''
  if (apiKey === undefined || apiKey.trim() === '') {
    throw unset(
      `there is no key in ${variable}`,
      `Set the environment variable ${variable}, name another one in model.apiKeyEnv, or write apiKeyEnv: null for an endpoint without keys.`,
    )
  }
  // A header can carry nothing else, and the error of the one who tries would quote the key.
  if (!/^[\x21-\x7E]+$/.test(apiKey)) {
    throw unset(
      `the value of ${variable} is no key`,
      `Set ${variable} to the key alone, without spaces or line breaks.`,
    )
  }
  return apiKey
}

const unset = (cause: string, hint: string): GloveboxError =>
  new GloveboxError('INVALID_SETTINGS', `Cannot ask a model: ${cause}.`, { hint })
