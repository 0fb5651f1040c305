// A limit group in cgroup v2: one directory with all controllers, below a parent that holds no process.
import { mkdir } from 'node:fs/promises'
import { GloveboxError } from '../../../errors/error.ts'
import { findControl, findNumber, hasCode, valueOf, writeControl } from './files.ts'
import { makeLimitGroup, usageOf, type LimitGroup } from './group.ts'
import { processesIn } from './processes.ts'
import { vacatedLeaf, type Limits, type V2Plan } from './plan.ts'
import { periodUs, quotaUs } from './quota.ts'

/** Makes the parent able to hold limit groups. Idempotent. */
export async function prepareV2(plan: V2Plan): Promise<void> {
  if (plan.vacate) await vacate(plan.parent)
  const control = `${plan.parent}/cgroup.subtree_control`
  const enabled = (findControl(control) ?? '').trim().split(/\s+/)
  const wanted = plan.enforces.filter((what) => !enabled.includes(what))
  if (wanted.length > 0) writeControl(control, wanted.map((what) => `+${what}`).join(' '))
}

async function vacate(parent: string): Promise<void> {
  const leaf = `${parent}/${vacatedLeaf}`
  try {
    await mkdir(leaf)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  }
  // More than one round, because a process may fork while its parent is being moved.
  for (let round = 0; round < 5; round++) {
    const pids = await processesIn([parent])
    if (pids.length === 0) return
    for (const pid of pids) await move(pid, leaf)
  }
  throw new GloveboxError('BOUNDARY_FAILED', 'Cannot prepare limits: processes keep starting in the control group', {
    hint: 'start the program in a control group of its own',
    operatorDetail: parent,
  })
}

async function move(pid: number, leaf: string): Promise<void> {
  // 0 stands for a process of another pid namespace; writing it would move this process instead.
  if (pid === 0) {
    throw new GloveboxError('BOUNDARY_FAILED', 'Cannot prepare limits: a foreign process is in the control group', {
      hint: 'start the program in a control group of its own',
    })
  }
  try {
    writeControl(`${leaf}/cgroup.procs`, String(pid))
  } catch (error) {
    const ended = error instanceof GloveboxError && hasCode(error.cause, 'ESRCH')
    if (!ended) throw error
  }
}

export function createV2Group(plan: V2Plan, name: string, limits: Limits): Promise<LimitGroup> {
  const directory = `${plan.parent}/${name}`
  const enforces = new Set(plan.enforces)
  return makeLimitGroup({
    name,
    by: plan.by,
    enforces: plan.enforces,
    directories: [directory],
    limits,
    async setLimits(now) {
      if (enforces.has('memory')) limitMemory(directory, now.memoryBytes)
      if (enforces.has('cpu')) writeControl(`${directory}/cpu.max`, `${quotaUs(now.cpuCores)} ${periodUs}`)
      if (enforces.has('pids')) writeControl(`${directory}/pids.max`, String(now.pids))
    },
    async oomKills() {
      return valueOf(findControl(`${directory}/memory.events`), 'oom_kill') ?? 0
    },
    async usage() {
      const [memoryBytes, pids, stat] = [
        findNumber(`${directory}/memory.current`),
        findNumber(`${directory}/pids.current`),
        findControl(`${directory}/cpu.stat`),
      ]
      const cpuUs = valueOf(stat, 'usage_usec')
      return usageOf({ memoryBytes, pids, cpuMs: cpuUs === undefined ? undefined : cpuUs / 1000 })
    },
  })
}

// SECURITY: no swap, or a bomb would grow into it; and the whole group dies, so that no half of a program lives on.
// test/attacks/limits: "a memory bomb ends by oom"
function limitMemory(directory: string, bytes: number): void {
  writeControl(`${directory}/memory.max`, String(bytes))
  writeControl(`${directory}/memory.oom.group`, '1')
  // Absent where the kernel has no swap at all.
  const swap = `${directory}/memory.swap.max`
  if (findControl(swap) !== undefined) writeControl(swap, '0')
}
