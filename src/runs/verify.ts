// Independent verification of a run directory: the chain of events, run.json as their fold, every file whose hash an
// event gives, those of the actions too, and every artifact of the manifest. It changes nothing, works offline on a copy,
// and says how much it has checked, so that an empty directory cannot pass as a sound one.
import { existsSync, lstatSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { artifactManifestSchema, type ArtifactManifest } from '../contract/artifact.ts'
import { runRecordSchema, type RunRecord, type RunStatus } from '../contract/run.ts'
import { GloveboxError } from '../errors/error.ts'
import { checkActions } from './verify-actions.ts'
import { checkArtifacts } from './verify-artifacts.ts'
import { hashRegular, readRegular, readingBuffer, textOf } from './verify-files.ts'
import { LogReader, type Finding, type LogReading } from './verify-log.ts'

const mandatory =
  `run.json session.json task.yaml prompt.md config.yaml effective-system-prompt.md sandbox-manifest.json
  artifact-manifest.json events.jsonl transcript.md workspace deliverables archive logs`.split(/\s+/)

export interface VerifyReport {
  readonly ok: boolean
  /** Null when no event could be read. */
  readonly status: RunStatus | null
  readonly findings: readonly Finding[]
  readonly checked: {
    readonly events: number
    readonly eventBytes: number
    /** Snapshots, manifests and transcript. */
    readonly files: number
    readonly artifacts: number
    readonly artifactBytes: number
    /** Actions whose end was recorded. */
    readonly actions: number
    /** Their files, and the contents that were kept of what they changed. */
    readonly actionFiles: number
    readonly actionBytes: number
  }
  /** Of the last event: what an anchor outside of the directory can be compared with. */
  readonly headHash: string | null
}

export async function verifyRun(sandboxPath: string): Promise<VerifyReport> {
  const directory = resolve(sandboxPath)
  if (!existsSync(join(directory, 'events.jsonl')) && !existsSync(join(directory, 'run.json'))) throw noRun(directory)
  const log = await readLog(join(directory, 'events.jsonl'))
  const files = await checkFiles(directory, log.files)
  const artifacts = await artifactsOf(directory, log)
  const actions = await checkActions(directory, log)
  const findings = [
    ...missing(directory),
    ...log.findings,
    ...checkRecord(log, await textOf(join(directory, 'run.json'))),
    ...files,
    ...artifacts.findings,
    ...actions.findings,
  ]
  return {
    ok: findings.length === 0,
    status: log.record?.status ?? null,
    findings,
    checked: {
      events: log.events,
      eventBytes: log.bytes,
      files: log.files.size,
      artifacts: artifacts.artifacts,
      artifactBytes: artifacts.bytes,
      actions: actions.actions,
      actionFiles: actions.files,
      actionBytes: actions.bytes,
    },
    headHash: log.headHash ?? null,
  }
}

const missing = (directory: string): readonly Finding[] =>
  mandatory
    .filter((name) => lstatSync(join(directory, name), { throwIfNoEntry: false }) === undefined)
    .map((name) => ({ kind: 'file', subject: name, detail: 'it is missing' }))

async function readLog(path: string): Promise<LogReading> {
  const reader = new LogReader()
  await readRegular(path, readingBuffer(), (part) => reader.push(part))
  return reader.end()
}

/** Compares run.json, as text, with what the events say. */
export function checkRecord(log: LogReading, runJson: string | undefined): readonly Finding[] {
  const say = (kind: Finding['kind'], detail: string): readonly Finding[] => [{ kind, subject: 'run.json', detail }]
  const told = parseRecord(runJson)
  if (log.record === undefined) return say('truncated', 'there are no events')
  if (told === undefined) return say('run_json', 'it is missing, or not of its schema')
  // Behind a line that is not believed nobody can tell what run.json should say.
  if (log.findings.some(({ kind }) => kind !== 'torn_tail')) return []
  if (told.state_seq > log.events)
    return say('truncated', `it speaks of event ${told.state_seq}, and the log ends at ${log.events}`)
  const expected = log.record
  const keys = Object.keys(expected) as (keyof RunRecord)[]
  const wrong = keys.filter((key) => JSON.stringify(told[key]) !== JSON.stringify(expected[key]))
  return wrong.length === 0 ? [] : say('run_json', `it differs from the events in ${wrong.join(', ')}`)
}

function parseRecord(text: string | undefined): RunRecord | undefined {
  try {
    const parsed = runRecordSchema.safeParse(JSON.parse(text ?? ''))
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}

async function checkFiles(directory: string, files: ReadonlyMap<string, string>): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  const find = (subject: string, detail: string): void => void findings.push({ kind: 'file', subject, detail })
  const buffer = readingBuffer()
  for (const [name, hash] of files) {
    if (!/^(?:archive\/)?[a-z][a-z.-]*$/.test(name)) {
      find(name, 'no file of a run has this name')
      continue
    }
    const found = await hashRegular(join(directory, name), buffer)
    if (found === undefined) find(name, 'it is no file')
    else if (found.sha256 !== hash) find(name, 'it is not what it was when it was recorded')
  }
  return findings
}

const nothing = { findings: [], artifacts: 0, bytes: 0 }

/** Only a run that has ended, or waits for review, has a manifest that must still be true. */
async function artifactsOf(directory: string, log: LogReading): ReturnType<typeof checkArtifacts> {
  const text = await textOf(join(directory, 'artifact-manifest.json'))
  const manifest = parseManifest(text)
  if (manifest === undefined) {
    return {
      ...nothing,
      findings: [{ kind: 'file', subject: 'artifact-manifest.json', detail: 'it is missing, or not of its schema' }],
    }
  }
  const isSettled =
    log.record !== undefined &&
    !['pending', 'running', 'waiting_for_tool', 'waiting_for_user'].includes(log.record.status)
  return isSettled ? checkArtifacts(directory, manifest) : nothing
}

function parseManifest(text: string | undefined): ArtifactManifest | undefined {
  try {
    const parsed = artifactManifestSchema.safeParse(JSON.parse(text ?? ''))
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}

const noRun = (directory: string): GloveboxError =>
  new GloveboxError('NOT_FOUND', 'Cannot verify the run: there is no events.jsonl and no run.json', {
    hint: 'Name the directory of a run.',
    operatorDetail: directory,
  })
