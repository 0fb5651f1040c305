// A live sandbox: the contract's comfort over a boundary. Files go through the named actions, so that library, HTTP, MCP and
// command line share one definition; commands go straight to the boundary.
import type { Backend, Boundary, Plan } from '../contract/backend.ts'
import type { ActionContext } from '../contract/action.ts'
import type { ExecResult, RunOptions } from '../contract/exec.ts'
import type { SandboxId } from '../contract/ids.ts'
import type { ResolvedPolicy } from '../contract/policy.ts'
import type { Description, Sandbox } from '../contract/sandbox.ts'
import { GloveboxError } from '../errors/error.ts'
import { describeSandbox } from './describe.ts'
import { createExecutor } from './exec.ts'
import { sandboxFiles } from './files.ts'

export interface Live {
  readonly id: SandboxId
  readonly backend: Backend
  readonly plan: Plan
  readonly resolved: ResolvedPolicy
  readonly boundary: Boundary
  readonly onEnd: () => Promise<void>
}

export function liveSandbox(live: Live): Sandbox {
  const { id, backend, boundary, plan, resolved } = live
  let ending: Promise<void> | undefined
  const requireAlive = (): void => {
    if (ending !== undefined)
      throw new GloveboxError('SANDBOX_GONE', 'Cannot use the sandbox: it has been killed', {
        hint: 'Create a new one.',
      })
  }
  const executor = createExecutor(live)
  const run = async (argv: readonly [string, ...string[]], options: RunOptions): Promise<ExecResult> => {
    requireAlive()
    return executor(argv, options)
  }
  const describe = (): Description => describeSandbox(id, plan, resolved)
  const context: ActionContext = {
    backend,
    boundary,
    policy: resolved,
    cwd: plan.spec.cwd,
    searchProgram: boundary.searchProgram,
    shell: boundary.shell,
    run,
    describe,
  }
  const execute: Sandbox['execute'] = async (name, input, options = {}) => {
    requireAlive()
    const { performAction } = await import('../actions/perform.ts')
    return performAction(context, name, input, options)
  }
  const end = async (): Promise<void> => {
    try {
      await backend.destroy(id)
    } finally {
      await live.onEnd()
    }
  }
  const kill = (): Promise<void> => {
    ending ??= end()
    return ending
  }
  return {
    id,
    describe,
    execute,
    commands: {
      run: async (command, options = {}) =>
        run(typeof command === 'string' ? [boundary.shell, '-c', '--', command] : command, options),
    },
    files: sandboxFiles(execute),
    kill,
    [Symbol.asyncDispose]: kill,
  }
}
