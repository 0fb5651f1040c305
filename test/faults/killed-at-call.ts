// Kills a host process just before its n-th system call of a kind: a tracer finds moments that the clock would hit once in
// ten thousand tries. Every call that changes the disk, the mounts or the process table is a kind of its own.
import { spawnSync } from 'node:child_process'
import { cleanRun, lookAround } from './aftermath.ts'
import { finished } from './finished.ts'
import { faultGround, type Starter } from './ground.ts'

export const changingCalls = [
  'mkdir',
  'rename',
  'link',
  'unlink',
  'rmdir',
  'fchown',
  'fsync',
  'clone',
  'move_mount',
] as const
/** Also between the making of a file and its filling, and at every opening. */
export const allCalls = [...changingCalls, 'write', 'openat'] as const

export const hasTracer = spawnSync('strace', ['-V']).status === 0

export interface CallKill {
  readonly call: string
  readonly nth: number
}

export interface CallKillReport {
  /** Those at which the host really ended. */
  readonly killed: readonly CallKill[]
  /** Those that the host never came to. */
  readonly beyond: readonly CallKill[]
  readonly faults: readonly string[]
}

export async function killAtCalls(starter: Starter, moments: Iterable<CallKill>): Promise<CallKillReport> {
  const ground = faultGround(starter)
  const report = { killed: [] as CallKill[], beyond: [] as CallKill[], faults: [] as string[] }
  try {
    const clean = await cleanRun(ground)
    const toldOf = new Set<string>()
    let count = 0
    for (const moment of moments) {
      const { call, nth } = moment
      if (report.beyond.some((each) => each.call === call && each.nth <= nth)) continue
      count += 1
      const workspace = ground.makeDirectory(`workspace-${count}`)
      // `-b execve` lets the host's children go when they become another program: they are not the host.
      const tracer = ['-f', '-b', 'execve', '-qq', '-o', '/dev/null', '-e', `trace=${call}`]
      const inject = ['-e', `inject=${call}:signal=KILL:when=${nth}`]
      const host = ground.startCli(['exec', '--', 'true'], { cwd: workspace, under: ['strace', ...tracer, ...inject] })
      const { code, signal, stderr } = await finished(host)
      if (signal === 'SIGKILL') report.killed.push(moment)
      else if (code === 0) report.beyond.push(moment)
      else report.faults.push(`${call} ${nth}: the host ended with ${code ?? signal}: ${stderr}`)
      const { faults } = await lookAround({ ground, clean, workspace, session: host.pid })
      // What one kill left for ever is told once.
      for (const fault of faults.filter((each) => !toldOf.has(each))) {
        toldOf.add(fault)
        report.faults.push(`before ${call} ${nth}: ${fault}`)
      }
    }
    return report
  } finally {
    ground.remove()
  }
}
