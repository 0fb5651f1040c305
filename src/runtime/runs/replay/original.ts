// The run that is to be repeated: verified first, then read, never written. What is damaged, unfinished or cannot be begun
// again is refused with the reason, before anything is made.
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import {
  artifactManifestSchema,
  sandboxManifestSchema,
  type ArtifactManifest,
  type SandboxManifest,
} from '../../../contract/artifact.ts'
import { needsOwner, type RunRecord } from '../../../contract/run.ts'
import { GloveboxError } from '../../../errors/error.ts'
import { indexActions, readActions, type UnendedAction } from '../../../runs/actions.ts'
import { readSnapshots, type Snapshots } from '../../../runs/snapshots.ts'
import { asStorageError } from '../../../runs/storage-error.ts'
import { textOf } from '../../../runs/verify-files.ts'
import { verifyRun } from '../../../runs/verify.ts'
import { lookAtRun } from '../look.ts'

export interface Original {
  /** Its real path. */
  readonly directory: string
  readonly record: RunRecord
  /** Of its last event. */
  readonly headHash: string
  readonly snapshots: Snapshots
  readonly sandbox: SandboxManifest
  readonly artifacts: ArtifactManifest
  readonly actions: number
  readonly unended: readonly UnendedAction[]
  /** Names of variables that single actions had. */
  readonly envNames: ReadonlySet<string>
}

const toldFindings = 20

export async function openOriginal(asked: string): Promise<Original> {
  const directory = realOf(asked)
  const { record } = await unchanging(directory)
  const headHash = await verified(directory)
  const { ended, unended } = await indexActions(directory)
  return {
    directory,
    record,
    headHash,
    snapshots: await readSnapshots(directory),
    sandbox: await manifest(directory, 'sandbox-manifest.json', sandboxManifestSchema),
    artifacts: await manifest(directory, 'artifact-manifest.json', artifactManifestSchema),
    actions: ended.length,
    unended,
    envNames: await namesOf(directory),
  }
}

function realOf(directory: string): string {
  try {
    return realpathSync(directory)
  } catch (error) {
    throw asStorageError(error, 'read the run')
  }
}

/** A run at which something is at work, or was when it crashed, is not yet what it will be. */
async function unchanging(directory: string): Promise<{ readonly record: RunRecord }> {
  const { record, isCrashed, damage } = await lookAtRun(directory)
  // Behind damage nobody can tell how the run stands.
  if (record === null || damage !== null) throw damaged([damage ?? 'not even its first event can be read'])
  if (isCrashed) throw refuse('its process is gone, and it has not been ended', 'Run: glovebox runs recover')
  if (needsOwner(record.status)) {
    throw new GloveboxError('BUSY', `Cannot replay the run: it has not ended, it is ${record.status}`, {
      hint: 'Wait until it has, or cancel it: glovebox runs cancel',
    })
  }
  return { record }
}

/** Law: a damaged run is not replayed. */
async function verified(directory: string): Promise<string> {
  const { ok, findings, headHash } = await verifyRun(directory)
  if (ok && headHash !== null) return headHash
  throw damaged(findings.map(({ subject, detail }) => `${subject}: ${detail}`))
}

function damaged(findings: readonly string[]): GloveboxError {
  const more = findings.length > 1 ? `, and ${findings.length - 1} more` : ''
  return new GloveboxError(
    'RECORD_DAMAGED',
    `Cannot replay the run: it is not as it was recorded (${findings[0]}${more})`,
    {
      hint: 'Nothing was repeated. `glovebox runs verify` tells everything that is wrong.',
      operatorDetail: findings.slice(0, toldFindings).join('\n'),
    },
  )
}

interface Schema<Value> {
  safeParse(value: unknown): { readonly success: true; readonly data: Value } | { readonly success: false }
}

export async function manifest<Value>(directory: string, name: string, schema: Schema<Value>): Promise<Value> {
  try {
    const parsed = schema.safeParse(JSON.parse((await textOf(join(directory, name))) ?? ''))
    if (parsed.success) return parsed.data
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw damaged([`${name}: it is missing, or not of its schema`])
}

async function namesOf(directory: string): Promise<ReadonlySet<string>> {
  const names = new Set<string>()
  for await (const { env_names: own } of readActions(directory)) for (const name of own) names.add(name)
  return names
}

const refuse = (cause: string, hint: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot replay the run: ${cause}`, { hint })
