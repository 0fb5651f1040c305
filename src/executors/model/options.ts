// `model:` in glovebox.yaml: which model does the work, and how much of everything it may use. No key stands here, since
// these options are copied into the run; the key comes from the environment variable that `apiKeyEnv` names.
import { z } from 'zod'

const modelProviders = ['openai-compatible', 'anthropic'] as const
export const toolsets = ['core', 'deerflow'] as const

const minutes = 60_000

function isEndpoint(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password, search, hash } = new URL(text)
  // A name, a password or a query would carry a secret into the snapshot of the configuration.
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === '')
}

export const modelOptionsSchema = z.strictObject({
  provider: z.enum(modelProviders).default('openai-compatible'),
  /** The address below which `/chat/completions` or `/messages` answers. */
  baseUrl: z.string().refine(isEndpoint, 'must be like https://host/v1, without user, password or query').optional(),
  /** The provider's name for the model. */
  model: z.string().min(1).max(200).optional(),
  /** The variable that holds the key; null for an endpoint that wants none. Default: the provider's customary one. */
  apiKeyEnv: z
    .union([
      z.null(),
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable, not the key'),
    ])
    .optional(),
  /** Turns of the model. */
  maxSteps: z.int().min(1).max(10_000).default(50),
  /** Of all turns together, sent and received. */
  maxTokens: z.int().min(1).default(2_000_000),
  /** Of the whole work, without the time in which a person is waited for. */
  timeoutMs: z
    .int()
    .min(1)
    .max(2 ** 31 - 1)
    .default(30 * minutes),
  /** Of a single turn. Default: the provider's. */
  maxOutputTokens: z.int().min(1).optional(),
  /** A provider that sends nothing for so long counts as failed. */
  idleTimeoutMs: z
    .int()
    .min(1)
    .max(2 ** 31 - 1)
    .default(2 * minutes),
  /** How often one turn is asked for again after a failure that may pass. */
  maxRetries: z.int().min(0).max(20).default(4),
  /** Before the first repetition; doubled for each further one, with chance. */
  retryDelayMs: z.int().min(1).max(minutes).default(1000),
  /** A provider that asks for a longer pause is not waited for. */
  maxRetryDelayMs: z
    .int()
    .min(1)
    .max(60 * minutes)
    .default(minutes),
  /** Calls in a row that cannot be understood, before the model is given up. */
  maxMistakes: z.int().min(1).max(100).default(5),
  /** Instructions of your own, after those of Glovebox. */
  system: z.string().max(100_000).optional(),
  toolset: z.enum(toolsets).default('core'),
})
export type ModelOptions = z.infer<typeof modelOptionsSchema>
