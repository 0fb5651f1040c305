// The warden outlives the host process on purpose, and must not do so for long, nor when the host ends in peace. It is in a
// session of its own and names no path, so it is found as what it is: a child of the host.
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { faultGround, starters } from './ground.ts'

interface Seen {
  readonly pid: number
  readonly parent: number
  readonly startTime: string
}

function allProcesses(): readonly Seen[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return 'ZX'.includes(fields[0] ?? 'X')
        ? []
        : [{ pid: Number(name), parent: Number(fields[1]), startTime: fields[19] ?? '' }]
    } catch {
      return []
    }
  })
}

function below(pid: number, all = allProcesses()): readonly Seen[] {
  return all.filter(({ parent }) => parent === pid).flatMap((child) => [child, ...below(child.pid, all)])
}

const alive = (known: readonly Seen[]): readonly Seen[] =>
  allProcesses().filter((each) => known.some(({ pid, startTime }) => pid === each.pid && startTime === each.startTime))

describe.skipIf(process.platform !== 'linux')('what the host process has started', () => {
  for (const starter of starters) {
    for (const { ending, command, harm } of [
      { ending: 'is killed', command: 'echo up; sleep 30', harm: true },
      { ending: 'ends by itself', command: 'echo up; sleep 3', harm: false },
    ])
      it(`is gone, the warden too, soon after it ${ending}, started by ${starter}`, async () => {
        const ground = faultGround(starter)
        try {
          const cwd = ground.makeDirectory('project')
          const host = ground.startCli(['exec', '--', 'sh', '-c', command], { cwd })
          await new Promise((resolve) => host.stdout?.once('data', resolve))
          const known = below(host.pid as number)
          // The control: bwrap and its guest, and a warden beside them.
          expect(known.filter(({ parent }) => parent === host.pid).length).toBeGreaterThanOrEqual(2)
          const ended = new Promise((resolve) => host.once('exit', resolve))
          if (harm) host.kill('SIGKILL')
          await ended
          await expect.poll(() => alive(known), { timeout: 10_000, interval: 20 }).toEqual([])
        } finally {
          ground.remove()
        }
      })
  }
})
