// Two servers on one PostgreSQL and one workspace, of which the other cannot see one's process, as in another container of one host: it can
// only be taken for dead.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRequired } from '../conformance/required.ts'
import { startExecServer, type ExecServer, type ServerOptions } from '../fixtures/exec-server.ts'
import { startCluster, whyNoPostgres } from '../fixtures/postgres.ts'

const apart = ['unshare', '-m', '-p', '-f', '--kill-child', '--mount-proc']
const canBeApart = spawnSync(apart[0] ?? '', [...apart.slice(1), 'true']).status === 0

export const canStopServers = canBeApart && (whyNoPostgres === undefined || isRequired('postgres'))

export interface StoppedAndWatching {
  readonly watching: ExecServer
  readonly stopped: ExecServer
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  remove(): Promise<void>
}

export async function startStoppedAndWatching(options: ServerOptions = {}): Promise<StoppedAndWatching> {
  const cluster = startCluster()
  const env = { DATABASE_URL: cluster.createDatabase() }
  const watching = await startExecServer({ ...options, env })
  const flags = [...(options.flags ?? []), '--data', join(watching.place, 'data')]
  const stopped = await startExecServer({ ...options, env, token: watching.token, flags, under: apart })
  return {
    watching,
    stopped,
    signal: (signal) => void process.kill(pidBelow(stopped.pid), signal),
    async remove() {
      // Itself, and what it runs under with it.
      process.kill(pidBelow(stopped.pid), 'SIGKILL')
      await stopped.remove()
      await watching.stop()
      await watching.remove()
      cluster.remove()
    },
  }
}

function pidBelow(pid: number): number {
  const child = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0])
  // A signal to 0 would be one to ourselves.
  if (!(child > 0)) throw new Error(`${pid} has no child`)
  return child
}
