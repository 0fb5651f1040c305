// A delegated cgroup v2 subtree from systemd. This process itself is moved into a transient scope, because a user may
// move processes only within a subtree that is theirs: a child started outside could never be put under limits.
import { setTimeout as delay } from 'node:timers/promises'
import { GloveboxError } from '../../../errors/error.ts'
import { findControl } from './files.ts'
import { parseCgroupLines } from '../../../process/control-groups.ts'
import type { SystemdPlan, V2Plan } from './plan.ts'

/** Runs a program of the host to its end. Passed in, since starting processes is another room's business. */
export type RunProgram = (
  argv: readonly [string, ...string[]],
  options: { readonly env: Readonly<Record<string, string>>; readonly timeoutMs: number },
) => Promise<{ readonly code: number; readonly stderr: string }>

export interface ScopeRequest {
  readonly argv: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string>>
}

/**
 * What `systemd-run --scope -p Delegate=yes` asks for, but with our own pid instead of a new program.
 * `fail`: if a unit of that name exists, nothing is replaced.
 */
export function compileScopeRequest(plan: SystemdPlan): ScopeRequest {
  const properties = ['2', 'PIDs', 'au', '1', String(plan.pid), 'Delegate', 'b', 'true']
  const argv = [
    plan.program,
    `--${plan.manager}`,
    'call',
    'org.freedesktop.systemd1',
    '/org/freedesktop/systemd1',
    'org.freedesktop.systemd1.Manager',
    'StartTransientUnit',
    'ssa(sv)a(sa(sv))',
    plan.unit,
    'fail',
    ...properties,
    '0',
  ] as const
  const runtime = `/run/user/${plan.uid}`
  const env = { XDG_RUNTIME_DIR: runtime, DBUS_SESSION_BUS_ADDRESS: `unix:path=${runtime}/bus` }
  return { argv, env: plan.manager === 'user' ? env : {} }
}

/** The scope's path in the tree if /proc/self/cgroup says that we are in it, at its top or in a leaf. */
export function scopePath(cgroupText: string, unit: string): string | undefined {
  const path = parseCgroupLines(cgroupText).find((line) => line.hierarchy === 0)?.path
  const segments = path?.split('/') ?? []
  const at = segments.indexOf(unit)
  return at < 0 ? undefined : segments.slice(0, at + 1).join('/')
}

const enterDeadlineMs = 5000

/** Idempotent: who is in the scope already stays there, and two calls at once end in the same scope. */
export async function enterScope(
  plan: SystemdPlan,
  run: RunProgram,
  readOwnCgroup: () => Promise<string | undefined> = () => Promise.resolve(findControl('/proc/self/cgroup')),
): Promise<V2Plan> {
  const find = async (): Promise<string | undefined> => scopePath((await readOwnCgroup()) ?? '', plan.unit)
  let path = await find()
  let answer = ''
  if (path === undefined) {
    const request = compileScopeRequest(plan)
    const ended = await run(request.argv, { env: request.env, timeoutMs: enterDeadlineMs })
    answer = `exit ${ended.code}: ${ended.stderr.trim()}`
    // systemd answers when the job is queued; the move follows. A second caller hears that the unit exists.
    const until = Date.now() + (ended.code === 0 ? enterDeadlineMs : 500)
    for (path = await find(); path === undefined && Date.now() < until; path = await find()) await delay(5)
  }
  if (path === undefined) {
    throw new GloveboxError('BOUNDARY_FAILED', 'Cannot limit the sandbox: systemd gave no scope for it', {
      hint: 'start with: systemd-run --user --scope -p Delegate=yes glovebox …',
      operatorDetail: `${plan.program} ${answer}`,
    })
  }
  const { by, enforces, missing } = plan
  return { mechanism: 'cgroup v2', by, enforces, missing, parent: `${plan.mountPoint}${path}`, vacate: true }
}
