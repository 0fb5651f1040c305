// What a host process that was killed may leave: no process for long, no mount ever, and after the next start
// nothing in the workspace, the state directory or the control groups but what an undisturbed command leaves.
import { finished } from './finished.ts'
import type { FaultGround } from './ground.ts'
import { controlGroupsOf, entriesBelow, mountsOf, sandboxIdsIn, untilGone } from './traces.ts'

/** That they are gone within a second is held by the campaign `kill`. Here it is told apart from what stays. */
const processPatienceMs = 10_000

/** A file that was being written by the host leaves its temporary: nobody can tell it from one that is being written now. */
const cutOffWrite = /(^|\/)\.glovebox-tmp-[0-9a-f]{24}$/

export interface Clean {
  readonly workspace: readonly string[]
  readonly state: readonly string[]
  readonly mounts: readonly string[]
}

export async function cleanRun(ground: FaultGround): Promise<Clean> {
  const workspace = ground.makeDirectory('undisturbed')
  await nextStart(ground, workspace)
  // Made by the library's host, and so no fault.
  const known = [...entriesBelow(workspace), 'written']
  return { workspace: known, state: entriesBelow(ground.stateDir), mounts: mountsOf(ground.directory) }
}

async function nextStart(ground: FaultGround, cwd: string): Promise<void> {
  const { code, signal, stderr } = await finished(ground.startCli(['exec', '--', 'true'], { cwd }))
  if (code !== 0) throw new Error(`the next start ended with ${code ?? signal}: ${stderr}`)
}

export interface Place {
  readonly ground: FaultGround
  readonly clean: Clean
  readonly workspace: string
  readonly session: number | undefined
}

export interface Aftermath {
  /** Sandboxes of which the dead host left something in the state directory, before the next start. */
  readonly ids: readonly string[]
  readonly endedAfterMs: number
  readonly faults: readonly string[]
}

export async function lookAround({ ground, clean, workspace, session }: Place): Promise<Aftermath> {
  const { afterMs, survivors } = await untilGone({ directory: ground.directory, session }, processPatienceMs)
  const ids = sandboxIdsIn(ground.stateDir)
  const faults = survivors.map((line) => `alive after ${processPatienceMs} ms: ${line}`)
  const say = (what: string, now: readonly string[], before: readonly string[]): void =>
    void faults.push(...now.filter((entry) => !before.includes(entry)).map((entry) => `${what}: ${entry}`))
  say('mounted', mountsOf(ground.directory), clean.mounts)
  await nextStart(ground, workspace).catch((error: Error) => faults.push(error.message))
  say(
    'left in the workspace',
    entriesBelow(workspace).filter((name) => !cutOffWrite.test(name)),
    clean.workspace,
  )
  say('left in the state directory', entriesBelow(ground.stateDir), clean.state)
  say('left control group', controlGroupsOf(ids), [])
  return { ids, endedAfterMs: Math.round(afterMs), faults }
}
