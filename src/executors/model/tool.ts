// The tools as the loop sees them. Those of the sandbox are handed in by the runtime; asking the user is the loop's own.
import { z } from 'zod'
import { GloveboxError } from '../../errors/error.ts'

export interface ModelToolResult {
  readonly text: string
  readonly isError: boolean
  readonly structured?: unknown
}

/** Fits the definitions of the room `tools`, which this room does not know. */
export interface ModelTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** Never rejects for what the model did wrong: that is a result with `isError`. */
  run(input: unknown, options: { readonly signal: AbortSignal }): Promise<ModelToolResult>
}

const input = z.strictObject({
  question: z.string().trim().min(1).max(4000).describe('What you need to know. The user sees nothing else of you.'),
  choices: z
    .array(z.string().trim().min(1).max(200))
    .min(2)
    .max(20)
    .optional()
    .describe('The possible answers, if there are only these.'),
})
export type AskedQuestion = z.infer<typeof input>

export function askUserTool(ask: (question: AskedQuestion) => Promise<string>): ModelTool {
  return {
    name: 'ask_user',
    description: 'Ask the user a question and wait for the answer. Only when you cannot go on without it.',
    inputSchema: z.toJSONSchema(input, { io: 'input' }),
    async run(given) {
      const parsed = input.safeParse(given)
      if (parsed.success) return { text: `The user answered: ${await ask(parsed.data)}`, isError: false }
      const issue = parsed.error.issues[0]
      return misuse(`Cannot call ask_user: ${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? ''}`)
    },
  }
}

/** A call that cannot be understood, told in the same words as the tools tell theirs. */
export function misuse(message: string): ModelToolResult {
  const text = `Error [INVALID_INPUT]: ${message.slice(0, 2000)}\nHint: Correct the call and try again.`
  return { text, isError: true, structured: { error: { code: 'INVALID_INPUT' } } }
}

/** The code of a refusal, for the log and for counting calls that were badly put. */
export function errorCodeOf({ isError, structured }: ModelToolResult): string | undefined {
  if (!isError) return undefined
  const shape = z.looseObject({ error: z.looseObject({ code: z.string() }) }).safeParse(structured)
  return shape.success ? shape.data.error.code : 'INTERNAL'
}

export function toolTable(tools: readonly ModelTool[]): ReadonlyMap<string, ModelTool> {
  const table = new Map(tools.map((tool) => [tool.name, tool]))
  if (table.size === tools.length) return table
  throw new GloveboxError('INTERNAL', 'Cannot offer the tools: two have the same name.')
}
