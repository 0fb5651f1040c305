// Independent verification of a run directory: the chain of events, run.json as their fold, every file whose hash an
// event gives, and every artifact of the manifest. It changes nothing, works offline on a copy, and says how much it has
// checked, so that an empty directory cannot pass as a sound one.
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { artifactManifestSchema, type ArtifactManifest } from '../contract/artifact.ts'
import { runRecordSchema, type RunRecord, type RunStatus } from '../contract/run.ts'
import { GloveboxError } from '../errors/error.ts'
import { checkArtifacts, hashOf } from './verify-artifacts.ts'
import { LogReader, type Finding, type LogReading } from './verify-log.ts'

const partBytes = 1024 * 1024
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
  const findings = [
    ...missing(directory),
    ...log.findings,
    ...checkRecord(log, textOf(join(directory, 'run.json'))),
    ...files,
    ...artifacts.findings,
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
  if (!existsSync(path)) return reader.end()
  const file = await open(path, 'r')
  try {
    const part = Buffer.allocUnsafe(partBytes)
    for (let position = 0; ;) {
      const { bytesRead } = await file.read(part, 0, partBytes, position)
      if (bytesRead === 0) return reader.end()
      position += bytesRead
      reader.push(part.subarray(0, bytesRead))
    }
  } finally {
    await file.close()
  }
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
  for (const [name, hash] of files) {
    if (!/^[a-z][a-z.-]*$/.test(name)) find(name, 'no file of a run has this name')
    else if (lstatSync(join(directory, name), { throwIfNoEntry: false })?.isFile() !== true) find(name, 'it is no file')
    else if ((await hashOf(join(directory, name))) !== hash) find(name, 'it is not what it was when it was recorded')
  }
  return findings
}

const nothing = { findings: [], artifacts: 0, bytes: 0 }

/** Only a run that has ended, or waits for review, has a manifest that must still be true. */
async function artifactsOf(directory: string, log: LogReading): ReturnType<typeof checkArtifacts> {
  const text = textOf(join(directory, 'artifact-manifest.json'))
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

function textOf(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isFile() === true ? readFileSync(path, 'utf8') : undefined
}

const noRun = (directory: string): GloveboxError =>
  new GloveboxError('NOT_FOUND', 'Cannot verify the run: there is no events.jsonl and no run.json', {
    hint: 'Name the directory of a run.',
    operatorDetail: directory,
  })
