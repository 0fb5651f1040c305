// The directory of a run: what lies in it, and how it comes into being. It is built whole under another name beside its
// place, with the first event synced, and then renamed: a directory that can be seen is a complete run, and rename never
// replaces one that holds anything. Names here are the only place where the layout is spelt.
import { randomBytes } from 'node:crypto'
import { closeSync, lstatSync, mkdirSync, openSync, renameSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { GloveboxError } from '../errors/error.ts'
import { makeDirectories } from '../paths/make-directories.ts'
import { isErrno } from '../paths/refusal.ts'
import { removeTreeAtOnce } from '../paths/remove-tree.ts'
import type { Failpoint } from './failpoints.ts'
import { holdRun, type Ownership } from './ownership.ts'
import { asPlaceError, onTheWay } from './place.ts'
import { syncDirectory, writeNew } from './replace-file.ts'
import { makeReserve } from './reserve.ts'
import { stagePrefix, sweepStages } from './stages.ts'

export const runFiles = [
  'run.json',
  'session.json',
  'task.yaml',
  'prompt.md',
  'config.yaml',
  'effective-system-prompt.md',
  'sandbox-manifest.json',
  'artifact-manifest.json',
  'events.jsonl',
  'transcript.md',
] as const
export type RunFile = (typeof runFiles)[number]

export const runDirectories = ['workspace', 'deliverables', 'archive', 'logs'] as const
export type RunDirectory = (typeof runDirectories)[number]

/** Law: prompt, config, session and task snapshots are read-only, and their hashes stand in the first event. */
export const snapshotFiles = ['session.json', 'task.yaml', 'prompt.md', 'config.yaml'] as const

/** Only in the directory of a run that was forked. */
export const forkFile = 'archive/fork.json'

export const placeIn = (directory: string, name: RunFile | RunDirectory): string => join(directory, name)

export interface NewLayout {
  /** Host path of the run directory. */
  readonly directory: string
  readonly files: Readonly<Record<RunFile, string | Uint8Array>>
  readonly failpoint: Failpoint
  readonly beginning?: Beginning | undefined
}

/** What the workspace begins with, where it is not empty. */
export interface Beginning {
  /** The text of archive/fork.json. */
  readonly record: string
  /** Lays it into the directory that is to become the run's. */
  readonly fill: (stage: string) => Promise<void>
}

/** Law: an existing run directory is refused untouched. */
export async function publishLayout(layout: NewLayout): Promise<Ownership> {
  const directory = resolve(layout.directory)
  onTheWay(() => {
    refuseExisting(directory)
    makeDirectories(dirname(directory))
    sweepStages(dirname(directory))
  })
  const stage = join(dirname(directory), `${stagePrefix}${randomBytes(12).toString('hex')}`)
  let owned: Ownership | undefined
  try {
    mkdirSync(stage, { mode: 0o700 })
    mkdirSync(join(stage, 'logs'), { mode: 0o755 })
    // Before anything else: a stage without a living owner is swept away.
    owned = holdRun(stage)
    await fill(stage, layout)
    layout.failpoint('run.create.beforePublish')
    renameSync(stage, directory)
  } catch (error) {
    owned?.release()
    removeTreeAtOnce(stage)
    throw isErrno(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR') ? exists(directory) : asPlaceError(error)
  }
  try {
    layout.failpoint('run.create.afterPublish')
    await syncDirectory(dirname(directory))
    return owned
  } catch (error) {
    // It is there, but nobody was told: the next open ends it.
    owned.release()
    throw asPlaceError(error)
  }
}

async function fill(stage: string, layout: NewLayout): Promise<void> {
  const isSnapshot = (name: RunFile): boolean => (snapshotFiles as readonly string[]).includes(name)
  for (const name of runDirectories) mkdirSync(join(stage, name), { recursive: true, mode: 0o755 })
  for (const name of runFiles) await writeNew(join(stage, name), layout.files[name], isSnapshot(name) ? 0o444 : 0o644)
  if (layout.beginning !== undefined) await begin(stage, layout.beginning)
  await makeReserve(join(stage, 'logs'))
  await syncDirectory(join(stage, 'logs'))
  await syncDirectory(stage)
}

async function begin(stage: string, { record, fill: lay }: Beginning): Promise<void> {
  await lay(stage)
  await writeNew(join(stage, forkFile), record, 0o444)
  await syncDirectory(join(stage, 'archive'))
}

function refuseExisting(directory: string): void {
  if (lstatSync(directory, { throwIfNoEntry: false }) !== undefined) throw exists(directory)
}

const exists = (directory: string): GloveboxError =>
  new GloveboxError('ALREADY_EXISTS', `Cannot create the run: something is already at ${basename(directory)}`, {
    hint: 'Choose another run id or another directory. A run is never written over.',
    operatorDetail: directory,
  })

/** A file of the run that is written only by adding to it. */
export const openForAppend = (directory: string, name: RunFile): { readonly fd: number; close(): void } => {
  const fd = openSync(placeIn(directory, name), 'a')
  return { fd, close: () => closeSync(fd) }
}
