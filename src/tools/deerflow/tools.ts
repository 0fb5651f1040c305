// The seven tools with the names, parameters and bounds that DeerFlow's agents know.
import type { Sandbox } from '../../contract/sandbox.ts'
import { shellRunner } from '../bash.ts'
import { makeTool, type ToolDefinition } from '../tool.ts'
import { bash } from './bash.ts'
import { readFile, strReplace, writeFile } from './files.ts'
import { glob, grep, ls } from './search.ts'

export function deerflowTools(sandbox: Sandbox): readonly ToolDefinition[] {
  return [
    makeTool(sandbox, bash(shellRunner(sandbox))),
    makeTool(sandbox, ls),
    makeTool(sandbox, glob),
    makeTool(sandbox, grep),
    makeTool(sandbox, readFile),
    makeTool(sandbox, writeFile),
    makeTool(sandbox, strReplace),
  ]
}
