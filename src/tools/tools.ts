// Agent-facing tools over a sandbox's actions: intent, description, schema, and a bounded text that reads well for
// a model. Two complete toolsets with the same powers.
// Promises: every text is bounded and says what was cut; a call never rejects; no host path is shown.
// Must not know: how an action is performed, which backend carries the sandbox, or which framework calls.
import type { Sandbox } from '../contract/sandbox.ts'
import { GloveboxError } from '../errors/error.ts'
import { didYouMean } from '../errors/suggest.ts'
import { coreTools } from './core/tools.ts'
import { deerflowTools } from './deerflow/tools.ts'
import type { ToolDefinition } from './tool.ts'

const toolsets = { core: coreTools, deerflow: deerflowTools } as const

export type ToolsetName = keyof typeof toolsets

export function tools(sandbox: Sandbox, options: { readonly set?: ToolsetName } = {}): readonly ToolDefinition[] {
  const { set = 'core' } = options
  if (!Object.hasOwn(toolsets, set)) {
    throw new GloveboxError('INVALID_INPUT', `Cannot make tools: no toolset is named ${JSON.stringify(set)}`, {
      hint: didYouMean(set, Object.keys(toolsets)),
    })
  }
  return toolsets[set](sandbox)
}

export type { ToolAnnotations, ToolDefinition, ToolResult, ToolRunOptions } from './tool.ts'
