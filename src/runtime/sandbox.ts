// A live sandbox: the contract's comfort over a boundary. Files go through the named actions, so that library, HTTP, MCP and
// command line share one definition; commands go straight to the boundary.
import type { Backend, Boundary, Plan } from '../contract/backend.ts'
import type { ActionContext } from '../contract/action.ts'
import type { ExecResult, RunOptions } from '../contract/exec.ts'
import { newShellId, type SandboxId, type ShellId } from '../contract/ids.ts'
import type { HostPath } from '../contract/mount.ts'
import type { ResolvedPolicy } from '../contract/policy.ts'
import type { Description, Provisioned, Resources, Sandbox } from '../contract/sandbox.ts'
import { GloveboxError, isGloveboxError } from '../errors/error.ts'
import { describeSandbox } from './describe.ts'
import { catalogued, type CatalogAbout } from './catalog/catalogued.ts'
import { createExecutor } from './exec.ts'
import { sandboxFiles } from './files.ts'
import { lazyShells } from './lazy-shells.ts'
import { redactAnswer } from './redact-answer.ts'
import type { Secrets } from './secrets.ts'
import { openTurnstile } from './turnstile.ts'

export interface Live {
  /** What its users call it; the boundary may have an id of its own. */
  readonly id: SandboxId
  readonly backend: Backend
  readonly plan: Plan
  readonly resolved: ResolvedPolicy
  readonly secrets: Secrets
  readonly boundary: Boundary
  /** Stands between every boundary of the sandbox and all that uses it. */
  readonly guard?: (boundary: Boundary) => Boundary
  /** Out of the guest's reach. */
  readonly scratch: HostPath
  /** For the catalog: what its maker knows of it. */
  readonly about?: CatalogAbout
  /** How its shells are called. Default: as nothing else is. */
  readonly newShellId?: () => ShellId
  readonly onEnd: () => Promise<void>
}

export function liveSandbox(live: Live): Sandbox {
  const { id, backend, resolved, secrets } = live
  let { plan, boundary } = live
  let executor = createExecutor(live)
  let ending: Promise<void> | undefined
  const turnstile = openTurnstile()
  const requireAlive = (): void => {
    if (ending !== undefined)
      throw new GloveboxError('SANDBOX_GONE', 'Cannot use the sandbox: it has been killed', {
        hint: 'Create a new one.',
      })
  }
  /** Nothing that fails tells a value either. */
  const use = <T>(work: () => Promise<T>): Promise<T> =>
    turnstile
      .use(async () => {
        requireAlive()
        return work()
      })
      .catch((error: unknown) => {
        // What the boundary could not begin because somebody ended it meanwhile is no fault of the boundary's.
        if (isGloveboxError(error) && error.code === 'BOUNDARY_FAILED') requireAlive()
        throw secrets.redaction.error(error)
      })
  const run = (argv: readonly [string, ...string[]], options: RunOptions): Promise<ExecResult> =>
    use(() => executor(argv, options))
  const describe = (): Description => describeSandbox({ id, plan, resolved, secrets })
  const shells = lazyShells({
    backend,
    resolved,
    secrets,
    standing: () => ({ plan, boundary }),
    use,
    newId: live.newShellId ?? newShellId,
  })
  const contextOf = (): ActionContext => ({
    backend,
    boundary,
    policy: resolved,
    cwd: plan.spec.cwd,
    searchProgram: boundary.searchProgram,
    shell: boundary.shell,
    run,
    shells,
    describe,
  })
  let context = contextOf()
  const execute: Sandbox['execute'] = (name, input, options = {}) =>
    use(async () => {
      const { performAction } = await import('../actions/perform.ts')
      return redactAnswer(secrets.redaction, await performAction(context, name, input, options))
    })
  const provision = (resources: Resources): Promise<Provisioned> =>
    turnstile.change(async () => {
      requireAlive()
      const { makeAnew } = await import('./provision.ts')
      const next = await makeAnew({ ...live, ...secrets }, { plan, boundary, vaults: secrets.vaults }, resources)
      const before = boundary
      plan = next.plan
      boundary = next.boundary
      executor = createExecutor({ ...live, plan, boundary })
      context = contextOf()
      secrets.replace(next.vaults)
      const open = shells.count()
      await backend.destroy(before.id)
      return { lost: open === 0 ? [] : [`what ${open} shell(s) remembered, and what ran in them`] }
    })
  const end = async (): Promise<void> => {
    try {
      // A boundary that is just being made is ended as well.
      await turnstile.settled()
      await Promise.all([shells.closeAll(), backend.destroy(boundary.id)])
    } finally {
      await live.onEnd()
    }
  }
  const kill = (): Promise<void> => {
    ending ??= end()
    return ending
  }
  const bare: Omit<Sandbox, 'catalog'> = {
    id,
    describe,
    execute,
    provision,
    commands: {
      run: async (command, options = {}) =>
        run(typeof command === 'string' ? [boundary.shell, '-c', '--', command] : command, options),
    },
    files: sandboxFiles(execute),
    shells,
    kill,
    [Symbol.asyncDispose]: kill,
  }
  const place = plan.spec.catalog
  if (place === undefined) return { ...bare, catalog: () => Promise.reject(noCatalog()) }
  const { shell } = boundary
  const { redaction } = secrets
  return catalogued({ sandbox: bare, place, shell, redaction, about: live.about ?? {} })
}

const noCatalog = (): GloveboxError =>
  new GloveboxError('NOT_FOUND', 'Cannot read the catalog: this sandbox keeps none', { facts: { what: 'catalog' } })
