// The only file that loads the AI SDK, and only when a model is asked. Everything that the SDK would take from the
// environment or put on the console by itself is closed off here.
import type { LanguageModelMiddleware } from 'ai'
import type { Endpoint } from './check.ts'
import { failed } from './session.ts'

export type Sdk = typeof import('ai')

export type WrappedModel = ReturnType<Sdk['wrapLanguageModel']>

export async function loadModel(endpoint: Endpoint): Promise<{ readonly sdk: Sdk; readonly model: WrappedModel }> {
  const sdk = await load(() => import('ai'))
  return { sdk, model: sdk.wrapLanguageModel({ model: await providerModel(endpoint), middleware: silent }) }
}

async function providerModel({ provider, baseUrl: baseURL, model, apiKey }: Endpoint) {
  // Every setting is given, since the SDK would look for a missing one in the environment.
  if (provider === 'anthropic') {
    const { createAnthropic } = await load(() => import('@ai-sdk/anthropic'))
    return createAnthropic({ baseURL, apiKey, fetch: fetchHere })(model)
  }
  const { createOpenAICompatible } = await load(() => import('@ai-sdk/openai-compatible'))
  const name = 'openai-compatible'
  return createOpenAICompatible({ name, baseURL, apiKey, includeUsage: true, fetch: fetchHere })(model)
}

/** SECURITY: a redirect is an error: followed, it would carry the prompt, and a key in a header of its own, to another host.
 * test/e2e/model-run: "a redirect of the provider is not followed" */
const fetchHere: typeof fetch = (address, init) => fetch(address, { ...init, redirect: 'manual' })

/** The SDK prints a provider's warnings on the console, which belongs to the command line. */
const silent: LanguageModelMiddleware = {
  specificationVersion: 'v3',
  async wrapStream({ doStream }) {
    const { stream, ...rest } = await doStream()
    type Part = typeof stream extends ReadableStream<infer Each> ? Each : never
    const quiet = new TransformStream<Part, Part>({
      transform(part, controller) {
        controller.enqueue(part.type === 'stream-start' ? { ...part, warnings: [] } : part)
      },
    })
    return { ...rest, stream: stream.pipeThrough(quiet) }
  },
}

/** They are optional dependencies, so that whoever needs no model need not have them. */
async function load<Module>(importing: () => Promise<Module>): Promise<Module> {
  try {
    return await importing()
  } catch {
    throw failed(
      'sdk_missing',
      'The AI SDK cannot be loaded. Install it beside glovebox: npm install ai @ai-sdk/openai-compatible @ai-sdk/anthropic',
    )
  }
}
