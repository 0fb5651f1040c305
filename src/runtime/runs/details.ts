// Everything that a person wants to know of one run, read once and without touching it. What cannot be believed is null,
// and `doubts` says why. Its list of files is read at once, and may be long: a server tells the standing of a run, which has none.
import { readFileSync } from 'node:fs'
import {
  artifactManifestSchema,
  sandboxManifestSchema,
  type ArtifactManifest,
  type DeliverableProblem,
  type SandboxManifest,
} from '../../contract/artifact.ts'
import type { RunEvent } from '../../contract/event.ts'
import type { SessionRecord, TaskRecord } from '../../contract/run.ts'
import { isGloveboxError } from '../../errors/error.ts'
import { checkDeliverables } from '../../runs/deliverables.ts'
import { placeIn, type RunFile } from '../../runs/layout.ts'
import { listOpenQuestions, type AskedQuestion } from '../../runs/questions.ts'
import { readEvents } from '../../runs/reader.ts'
import { readSnapshots } from '../../runs/snapshots.ts'
import { lookAtRun } from './look.ts'

type Look = Awaited<ReturnType<typeof lookAtRun>>

export interface RunStanding extends Look {
  readonly session: SessionRecord | null
  readonly task: TaskRecord | null
  readonly prompt: string | null
  readonly questions: readonly AskedQuestion[]
  /** Commands and actions that were performed, refused ones too. */
  readonly actions: number
  /** The newest events, oldest first. */
  readonly lastEvents: readonly RunEvent[]
  /** Why the run stands as it does, in a sentence. */
  readonly summary: string | null
  /** What the person wrote who decided about it. */
  readonly message: string | null
  readonly doubts: readonly string[]
}

export interface RunDetails extends RunStanding {
  readonly sandbox: SandboxManifest | null
  /** As it was recorded; null before the run has ended or waits for review. */
  readonly artifacts: ArtifactManifest | null
  /** Of the required deliverables, those that do not count; null where there is no manifest to judge by. */
  readonly problems: readonly DeliverableProblem[] | null
}

export async function readDetails(directory: string, lastEvents: number): Promise<RunDetails> {
  const standing = await readStanding(directory, lastEvents)
  const doubts = [...standing.doubts]
  const sandbox = manifestIn(directory, 'sandbox-manifest.json', sandboxManifestSchema, doubts)
  const artifacts = manifestIn(directory, 'artifact-manifest.json', artifactManifestSchema, doubts)
  const { task } = standing
  const problems = task === null || artifacts === null ? null : checkDeliverables(task.deliverables, artifacts)
  return { ...standing, sandbox, artifacts, problems, doubts }
}

/** All of it but what its boundary was and which files came out of it. */
export async function readStanding(directory: string, lastEvents: number): Promise<RunStanding> {
  const look = await lookAtRun(directory)
  const doubts: string[] = []
  const snapshots = await believed(() => readSnapshots(directory), doubts)
  return {
    ...look,
    ...(await readStory(directory, lastEvents)),
    session: snapshots?.session ?? null,
    task: snapshots?.task ?? null,
    prompt: snapshots?.prompt ?? null,
    questions: look.isCrashed ? [] : await listOpenQuestions(directory),
    doubts,
  }
}

async function believed<Value>(read: () => Promise<Value>, doubts: string[]): Promise<Value | null> {
  try {
    return await read()
  } catch (error) {
    if (!isGloveboxError(error)) throw error
    doubts.push(error.message)
    return null
  }
}

interface Schema<Value> {
  safeParse(value: unknown): { readonly success: boolean; readonly data?: Value }
}

/** Null without a doubt where nothing has been recorded yet. */
function manifestIn<Value extends { readonly recorded_at: string | null }>(
  directory: string,
  name: RunFile,
  schema: Schema<Value>,
  doubts: string[],
): Value | null {
  try {
    const parsed = schema.safeParse(JSON.parse(readFileSync(placeIn(directory, name), 'utf8')))
    if (parsed.data === undefined) throw new SyntaxError('not of its schema')
    return parsed.data.recorded_at === null ? null : parsed.data
  } catch {
    doubts.push(`${name} cannot be read`)
    return null
  }
}

async function readStory(
  directory: string,
  count: number,
): Promise<Pick<RunStanding, 'actions' | 'lastEvents' | 'summary' | 'message'>> {
  const last: RunEvent[] = []
  let actions = 0
  let summary: string | null = null
  let message: string | null = null
  for await (const event of readEvents(directory)) {
    last.push(event)
    if (last.length > count) last.shift()
    if (event.type === 'action_ended') actions += 1
    if (event.type !== 'state_changed' && event.type !== 'run_ended') continue
    summary = event.summary
    if (typeof event.data['message'] === 'string') message = event.data['message']
  }
  return { actions, lastEvents: last, summary, message }
}
