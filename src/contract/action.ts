// A named operation of a sandbox. One definition serves library, HTTP, MCP, CLI and console.
import type { z } from 'zod'
import type { Backend, Boundary } from './backend.ts'
import type { ExecResult, RunOptions } from './exec.ts'
import type { Description } from './sandbox.ts'
import type { GuestPath } from './mount.ts'
import type { ResolvedPolicy } from './policy.ts'
import type { SandboxShells } from './shell.ts'

/** What an action is handed. It knows no more of a sandbox than this. */
export interface ActionContext {
  readonly backend: Backend
  readonly boundary: Boundary
  readonly policy: ResolvedPolicy
  readonly cwd: GuestPath
  /** Where the search program is found inside. */
  readonly searchProgram: string
  /** The guest's shell: an absolute path inside. */
  readonly shell: string
  run(argv: readonly [string, ...string[]], options: RunOptions): Promise<ExecResult>
  readonly shells: SandboxShells
  describe(): Description
}

export interface Action<
  Name extends string = string,
  Input extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
> {
  readonly name: Name
  readonly summary: string
  readonly input: Input
  readonly output: Output
  /** Does it change files or run programs that may? Shown to agents, and used by read-only callers. */
  readonly effect: 'read' | 'write' | 'execute'
  perform(context: ActionContext, input: z.infer<Input>, signal?: AbortSignal): Promise<z.infer<Output>>
}
