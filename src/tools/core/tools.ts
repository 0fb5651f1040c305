// The tools with the names and parameters that models were trained on.
import type { Sandbox } from '../../contract/sandbox.ts'
import { shellRunner } from '../bash.ts'
import { makeTool, type ToolDefinition } from '../tool.ts'
import { bash } from './bash.ts'
import { edit, read, write } from './files.ts'
import { glob, grep, ls } from './search.ts'

export function coreTools(sandbox: Sandbox): readonly ToolDefinition[] {
  return [
    makeTool(sandbox, bash(shellRunner(sandbox))),
    makeTool(sandbox, read),
    makeTool(sandbox, write),
    makeTool(sandbox, edit),
    makeTool(sandbox, glob),
    makeTool(sandbox, grep),
    makeTool(sandbox, ls),
  ]
}
