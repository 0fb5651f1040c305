// Who is in a group, and the end of them all.
import { access, writeFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { GloveboxError } from '../../../errors/error.ts'
import { findControl, hasCode } from './files.ts'

const killDeadlineMs = 10_000

export async function processesIn(directories: readonly string[]): Promise<readonly number[]> {
  const texts = directories.map((directory) => findControl(`${directory}/cgroup.procs`))
  const pids = texts.flatMap((text) => (text ?? '').split('\n').filter((line) => line !== ''))
  return [...new Set(pids.map(Number))]
}

/** Repeats, because a process may fork between the listing and its end. */
export async function endProcesses(directories: readonly string[]): Promise<void> {
  const until = Date.now() + killDeadlineMs
  for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, 50)) {
    const pids = await processesIn(directories)
    if (pids.length === 0) return
    if (Date.now() > until) {
      throw new GloveboxError('BUSY', `Cannot end all processes of a sandbox: ${pids.length} did not die in time`, {
        operatorDetail: `pids ${pids.join(', ')}`,
      })
    }
    if (!(await killAtOnce(directories))) pids.forEach(endProcess)
    await delay(waitMs)
  }
}

/** cgroup v2 of Linux 5.14 and later kills a whole group, forks included, in one step. */
async function killAtOnce(directories: readonly string[]): Promise<boolean> {
  const [only] = directories
  if (directories.length !== 1 || only === undefined) return false
  try {
    await access(`${only}/cgroup.kill`)
    await writeFile(`${only}/cgroup.kill`, '1')
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENODEV')) return false
    throw error
  }
}

function endProcess(pid: number): void {
  // The kernel lists a process of another pid namespace as 0, and kill(0) would end our own process group.
  if (pid < 2 || pid === process.pid) return
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error
  }
}
