// Limits of memory, CPU and number of processes that hold for everything in a sandbox together.
// Promises: a group that is returned limits what its plan says it enforces; what cannot be limited here is named with
// the reason and the fix before anything starts; groups lie below this process's own, so a container's limits still hold.
// Must not know what runs in a group, nor policy: numbers come in, a group comes out. One group per sandbox.
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { GloveboxError } from '../../../errors/error.ts'
import { ownIdentity } from '../../../process/identity.ts'
import type { LimitGroup } from './group.ts'
import type { Limits, LimitsHost, LimitsPlan, V1Plan, V2Plan } from './plan.ts'
import { enterScope, type RunProgram } from './systemd.ts'
import { createV1Group, v1Directories } from './v1.ts'
import { createV2Group, prepareV2 } from './v2.ts'

export { detectLimits } from './detect.ts'
export type { LimitGroup, Usage } from './group.ts'
export type { Controller, Limits, LimitsHost, LimitsPlan, MissingLimit } from './plan.ts'
export type { RunProgram } from './systemd.ts'

export const limitGroupName = (sandboxId: string): string => `glovebox-${sandboxId}`

/** Where the group will be; undefined where that is known only once systemd has been asked, and where there will be none. */
export function limitDirectories(plan: LimitsPlan, name: string): readonly string[] | undefined {
  if (plan.enforces.length === 0 || plan.mechanism === 'none' || plan.mechanism === 'systemd scope') return undefined
  return plan.mechanism === 'cgroup v1' ? v1Directories(plan, name) : [`${plan.parent}/${name}`]
}

export interface CreateGroupOptions {
  /** Needed by a systemd plan only. */
  readonly run?: RunProgram
  /** Told where the group will be before it is made, so that a journal can name it whatever happens next. */
  readonly beforeMaking?: (directories: readonly string[]) => Promise<void>
}

export async function createLimitGroup(
  plan: LimitsPlan,
  name: string,
  limits: Limits,
  options: CreateGroupOptions = {},
): Promise<LimitGroup> {
  checkName(name)
  checkLimits(limits)
  const ready = await prepare(plan, options.run)
  const directories = ready.mechanism === 'cgroup v1' ? v1Directories(ready, name) : [`${ready.parent}/${name}`]
  await options.beforeMaking?.(directories)
  return ready.mechanism === 'cgroup v1' ? createV1Group(ready, name, limits) : createV2Group(ready, name, limits)
}

async function prepare(plan: LimitsPlan, run: RunProgram | undefined): Promise<V1Plan | V2Plan> {
  if (plan.mechanism === 'cgroup v1') return plan
  if (plan.mechanism === 'none') {
    const [missing] = plan.missing
    const message = `Cannot limit the sandbox: ${missing?.why ?? 'no means is known'}`
    throw new GloveboxError('POLICY_UNENFORCEABLE', message, missing === undefined ? {} : { hint: missing.fix })
  }
  if (plan.mechanism === 'cgroup v2') {
    await prepareV2(plan)
    return plan
  }
  if (run === undefined) throw new GloveboxError('INTERNAL', 'Cannot enter a systemd scope: no way to run a program')
  const entered = await enterScope(plan, run)
  await prepareV2(entered)
  return entered
}

/** The name becomes a directory of the host, and a sweep kills what is in directories so named. */
function checkName(name: string): void {
  if (/^glovebox-[a-z0-9_-]{1,100}$/.test(name) && name !== 'glovebox-host') return
  throw new GloveboxError('INVALID_INPUT', 'Cannot make a control group: the name is not of a sandbox')
}

function checkLimits({ memoryBytes, cpuCores, pids }: Limits): void {
  const whole = [memoryBytes, pids].every((value) => Number.isSafeInteger(value) && value > 0)
  if (whole && Number.isFinite(cpuCores) && cpuCores > 0) return
  throw new GloveboxError('INVALID_INPUT', 'Cannot make a control group: limits must be positive numbers')
}

/** What this machine says of itself. */
export function readLimitsHost(): LimitsHost {
  const self = ownIdentity()
  return {
    uid: process.getuid?.() ?? -1,
    pid: self.pid,
    unit: `glovebox-${self.pid}-${self.startTime}.scope`,
    cgroup: findText('/proc/self/cgroup') ?? '',
    mountinfo: findText('/proc/self/mountinfo') ?? '',
    read: findText,
    exists: existsSync,
    canWrite: (path) => succeeds(() => accessSync(path, constants.W_OK)),
  }
}

function findText(path: string): string | undefined {
  let text: string | undefined
  succeeds(() => (text = readFileSync(path, 'utf8')))
  return text
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt()
    return true
  } catch {
    return false
  }
}
