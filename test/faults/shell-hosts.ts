// Host processes with persistent shells: one that is killed while things run in them, and one that uses them without end.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { resultOf } from './finished.ts'
import type { FaultGround } from './ground.ts'
import { processesOf, untilGone } from './traces.ts'

export type ShellBackend = 'bwrap' | 'docker' | 'local'

/** For a machine on which others work too. What stays is told apart all the same. */
const patienceMs = 30_000

/** What was alive in the shells of a host process before it was killed, and what still was after a while. */
export async function killHolder(ground: FaultGround, backend: ShellBackend) {
  const mark = `glovebox-in-a-shell-${backend}-${process.pid}-${Date.now()}`
  const workspace = ground.makeDirectory(`held-${backend}`)
  const host = ground.startHost('shells.mjs', ['held', backend, workspace, mark])
  host.stderr?.resume()
  await Promise.race([once(host.stdout!, 'data'), once(host, 'exit')])
  if (host.exitCode !== null) throw new Error(`the host ended with ${host.exitCode} before it was killed`)
  const isGuest = (line: string): boolean => !line.includes('shells.mjs')
  const running = (): readonly string[] => processesOf({ directory: mark }).filter((line) => isGuest(line))
  // A job that has just been started may not have become what it will be.
  for (const giveUpAt = Date.now() + patienceMs; running().length < 5 && Date.now() < giveUpAt;)
    await new Promise((resolve) => setTimeout(resolve, 20))
  const met = running().length
  const ended = once(host, 'exit')
  host.kill('SIGKILL')
  await ended
  const { survivors } = await untilGone({ directory: mark }, patienceMs)
  return { met, survivors }
}

export interface Marathon {
  readonly faults: readonly string[]
  readonly perCommandMs: number
  readonly children: string
  readonly descriptors: { readonly before: number; readonly after: number }
}

export function runMarathon(
  ground: FaultGround,
  { backend, commands, shells }: { readonly backend: ShellBackend; readonly commands: number; readonly shells: number },
): Promise<Marathon> {
  const workspace = ground.makeDirectory(`marathon-${backend}`)
  const asked = ['marathon', backend, workspace, String(commands), String(shells)]
  return resultOf<Marathon>(ground.startHost('shells.mjs', asked))
}

/** Docker's own are root's business here: an ordinary user may not speak to the daemon. */
export function backendsHere(): readonly ShellBackend[] {
  const isRoot = process.getuid?.() === 0
  return isRoot && dockerAnswers() ? ['bwrap', 'local', 'docker'] : ['bwrap', 'local']
}

function dockerAnswers(): boolean {
  try {
    execFileSync('docker', ['image', 'inspect', 'glovebox/sandbox:latest'], { stdio: 'ignore', timeout: 10_000 })
    return true
  } catch {
    return false
  }
}
