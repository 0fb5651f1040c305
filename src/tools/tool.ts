// What an agent sees of a sandbox: a name, a description, a schema, and a bounded text.
import { z } from 'zod'
import type { Sandbox } from '../contract/sandbox.ts'
import { GloveboxError } from '../errors/error.ts'
import { renderForAgent } from '../errors/render.ts'

export interface ToolResult {
  readonly text: string
  /** Our own failures. A command with a non-zero exit is a normal result. */
  readonly isError: boolean
  readonly structured: unknown
}

/** The four hints of MCP, always all of them. */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

export interface ToolRunOptions {
  readonly signal?: AbortSignal
}

export interface ToolDefinition {
  readonly name: string
  readonly description: string
  /** JSON Schema (2020-12) of the input. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly annotations: ToolAnnotations
  /** Never rejects: what goes wrong is a result with `isError`. */
  run(input: unknown, options?: ToolRunOptions): Promise<ToolResult>
}

export interface ToolAnswer {
  readonly text: string
  readonly structured: unknown
}

export interface ToolRecipe<Input extends z.ZodType> {
  readonly name: string
  readonly description: string
  readonly input: Input
  readonly annotations: ToolAnnotations
  answer(execute: Execute, input: z.infer<Input>): Promise<ToolAnswer>
}

/** `sandbox.execute` with the call's signal, and its output checked against what the tool reads of it. */
export type Execute = <Output extends z.ZodType>(
  action: string,
  input: Readonly<Record<string, unknown>>,
  output: Output,
) => Promise<z.infer<Output>>

export function makeTool<Input extends z.ZodType>(sandbox: Sandbox, recipe: ToolRecipe<Input>): ToolDefinition {
  return {
    name: recipe.name,
    description: recipe.description,
    inputSchema: z.toJSONSchema(recipe.input, { io: 'input' }),
    annotations: recipe.annotations,
    async run(input, options = {}) {
      try {
        const checked = checkInput(recipe, input)
        const answer = await recipe.answer(executeWith(sandbox, options), checked)
        return { ...answer, isError: false }
      } catch (error) {
        return errorResult(error)
      }
    },
  }
}

function executeWith(sandbox: Sandbox, { signal }: ToolRunOptions): Execute {
  return async (action, input, output) => {
    const result = await sandbox.execute(action, input, signal === undefined ? {} : { signal })
    return output.parse(result)
  }
}

function checkInput<Input extends z.ZodType>(recipe: ToolRecipe<Input>, input: unknown): z.infer<Input> {
  const parsed = recipe.input.safeParse(input)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.slice(0, 5).map((issue) => {
    const field = issue.path.map(String).join('.')
    return field === '' ? issue.message : `${field}: ${issue.message}`
  })
  throw new GloveboxError('INVALID_INPUT', `Cannot call ${recipe.name}: ${issues.join('; ')}`.slice(0, 2000), {
    hint: 'Correct the named fields and call again.',
  })
}

function errorResult(error: unknown): ToolResult {
  const shown = renderForAgent(error)
  const hint = shown.hint === undefined ? '' : `\nHint: ${shown.hint}`
  return { text: `Error [${shown.code}]: ${shown.message}${hint}`, isError: true, structured: { error: shown } }
}

export const reads: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}
export const writes: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: false,
}
/** A command may do anything that the sandbox lets it, the network included where the policy opens it. */
export const executes: ToolAnnotations = { ...writes, openWorldHint: true }
