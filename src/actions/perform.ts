// The one way into an action: look it up, check the input, perform.
import type { z } from 'zod'
import type { Action, ActionContext } from '../contract/action.ts'
import { GloveboxError } from '../errors/error.ts'
import { getAction } from './registry.ts'

export interface PerformOptions {
  readonly signal?: AbortSignal
}

export async function performAction(
  context: ActionContext,
  name: string,
  input: unknown,
  options: PerformOptions = {},
): Promise<unknown> {
  const action = getAction(name)
  const checked = checkInput(action, input)
  if (options.signal?.aborted === true) {
    throw new GloveboxError('CANCELLED', `Cannot execute ${name}: the caller cancelled it before it began`)
  }
  return action.perform(context, checked, options.signal)
}

export function checkInput(action: Action, input: unknown): unknown {
  const parsed = action.input.safeParse(input)
  if (parsed.success) return parsed.data
  throw new GloveboxError('INVALID_INPUT', `Cannot execute ${action.name}: ${describeIssues(parsed.error)}`, {
    hint: 'Correct the named fields. Unknown fields are refused.',
    facts: { fields: parsed.error.issues.map((issue) => issue.path.map(String).join('.')) },
  })
}

const shownIssues = 5

function describeIssues(error: z.ZodError): string {
  const shown = error.issues.slice(0, shownIssues).map((issue) => {
    const field = issue.path.map(String).join('.')
    return field === '' ? issue.message : `${field}: ${issue.message}`
  })
  const more = error.issues.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ').slice(0, 2000)
}
