// A limit group in cgroup v1: one directory per controller, below this process's own group in that hierarchy.
import { findControl, findNumber, valueOf, writeControl } from './files.ts'
import { makeLimitGroup, usageOf, type LimitGroup } from './group.ts'
import type { Limits, V1Plan } from './plan.ts'
import { periodUs, quotaUs } from './quota.ts'

export function v1Directories(plan: V1Plan, name: string): readonly string[] {
  // Controllers that are mounted together share a directory.
  return [...new Set(Object.values(plan.parents))].map((parent) => `${parent}/${name}`)
}

export function createV1Group(plan: V1Plan, name: string, limits: Limits): Promise<LimitGroup> {
  const { memory, cpu, pids } = plan.parents
  const below = (parent: string, file: string): string => `${parent}/${name}/${file}`
  return makeLimitGroup({
    name,
    by: plan.by,
    enforces: plan.enforces,
    directories: v1Directories(plan, name),
    // A thread that moves itself takes no lock; one that is moved waits for the whole machine.
    entryFile: 'tasks',
    limits,
    async setLimits(now) {
      if (memory !== undefined) limitMemory(`${memory}/${name}`, now.memoryBytes)
      if (cpu !== undefined) {
        writeControl(below(cpu, 'cpu.cfs_period_us'), String(periodUs))
        writeControl(below(cpu, 'cpu.cfs_quota_us'), String(quotaUs(now.cpuCores)))
      }
      if (pids !== undefined) writeControl(below(pids, 'pids.max'), String(now.pids))
    },
    async oomKills() {
      if (memory === undefined) return 0
      return valueOf(findControl(below(memory, 'memory.oom_control')), 'oom_kill') ?? 0
    },
    async usage() {
      const [memoryBytes, running, cpuNs] = [
        memory === undefined ? undefined : findNumber(below(memory, 'memory.usage_in_bytes')),
        pids === undefined ? undefined : findNumber(below(pids, 'pids.current')),
        cpu === undefined ? undefined : findNumber(below(cpu, 'cpuacct.usage')),
      ]
      return usageOf({ memoryBytes, pids: running, cpuMs: cpuNs === undefined ? undefined : cpuNs / 1e6 })
    },
  })
}

// SECURITY: memory and swap together, or a bomb would grow into swap. test/attacks/limits: "a memory bomb ends by oom"
function limitMemory(directory: string, bytes: number): void {
  writeControl(`${directory}/memory.limit_in_bytes`, String(bytes))
  const withSwap = `${directory}/memory.memsw.limit_in_bytes`
  // Absent where the kernel does not account swap; then swappiness 0 keeps the group out of it.
  if (findControl(withSwap) === undefined) return writeControl(`${directory}/memory.swappiness`, '0')
  writeControl(withSwap, String(bytes))
}
