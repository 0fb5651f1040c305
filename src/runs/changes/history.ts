// What each action of a run changed, as the log tells it: in the order in which they ended, which is the order of the looks.
// A change set counts only if the log vouches for its bytes; where it does not, there is a gap, and the gap is told.
import { readFileSync } from 'node:fs'
import {
  actionEnded,
  actionEndedDataSchema,
  actionStarted,
  changeSetSchema,
  startStateSchema,
  type ActionEndedData,
  type ChangeSet,
  type StartState,
} from '../../contract/recorded-action.ts'
import type { EventData } from '../../contract/event.ts'
import { isGloveboxError } from '../../errors/error.ts'
import { isErrno } from '../../paths/refusal.ts'
import { readVouched } from '../actions.ts'
import { readEvents, refuseOther } from '../reader.ts'
import { asStorageError } from '../storage-error.ts'
import { sha256Of } from './blobs.ts'
import { gapIn } from './fold.ts'
import { startFile } from './start.ts'

/** The event that vouches for the state before the first action. */
const startRecorded = 'start_recorded'

/** A record of more than the most entries that are watched is none of ours. */
const maxBytes = 256 * 1024 * 1024

export interface HistoryStep {
  readonly number: number
  readonly action: string
  /** One line on what it was asked. */
  readonly about: string
  readonly ended: ActionEndedData['ended']
  readonly error: string | null
  /** Undefined where the action could change nothing, and where the record cannot be read. */
  readonly changes: ChangeSet | undefined
  readonly gaps: readonly string[]
}

export interface History {
  /** Undefined when it cannot be had; then `startGaps` says why. */
  readonly start: StartState | undefined
  readonly startGaps: readonly string[]
  readonly steps: readonly HistoryStep[]
  /** Actions that began, and of whose end there is no record. */
  readonly unended: readonly Pick<HistoryStep, 'number' | 'action' | 'about'>[]
}

export async function readHistory(directory: string): Promise<History> {
  refuseOther(directory)
  try {
    const begun = new Map<number, History['unended'][number]>()
    const steps: HistoryStep[] = []
    let startHash: string | undefined
    for await (const { type, data } of readEvents(directory)) {
      const { number } = data
      if (type === actionStarted && typeof number === 'number')
        begun.set(number, { number, action: textIn(data['action']), about: textIn(data['about']) })
      if (type === startRecorded) startHash = hashIn(data)
      if (type !== actionEnded) continue
      const parsed = actionEndedDataSchema.safeParse(data)
      if (!parsed.success) continue
      steps.push(await stepOf(directory, parsed.data, begun.get(parsed.data.number)?.about ?? ''))
      begun.delete(parsed.data.number)
    }
    const start = startIn(directory, startHash)
    const gaps = typeof start === 'string' ? [start] : gapIn(firstState, start)
    return {
      start: typeof start === 'string' ? undefined : start,
      startGaps: gaps,
      steps,
      unended: [...begun.values()],
    }
  } catch (error) {
    throw asStorageError(error, 'read what the run changed')
  }
}

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')

const firstState = 'The state before the first action'

async function stepOf(directory: string, data: ActionEndedData, about: string): Promise<HistoryStep> {
  const { number, action, ended, error, hashes } = data
  const plain = { number, action, about, ended, error }
  if (hashes['changes.json'] === undefined) return { ...plain, changes: undefined, gaps: [] }
  try {
    const bytes = await readVouched(directory, { number, name: 'changes.json', hashes, maxBytes })
    const changes = parseJson(bytes.toString('utf8'), (value) => changeSetSchema.safeParse(value).data)
    const what = `What action ${number} changed`
    const gaps = changes === undefined ? [`${what} is not of its schema.`] : gapIn(what, changes)
    return { ...plain, changes, gaps }
  } catch (thrown) {
    if (!isGloveboxError(thrown) || thrown.code !== 'RECORD_DAMAGED') throw thrown
    return { ...plain, changes: undefined, gaps: [`${thrown.message}.`] }
  }
}

/** A sentence where it cannot be had, or is not what the log says it was. */
function startIn(directory: string, vouched: string | undefined): StartState | string {
  const bytes = startBytes(directory)
  if (bytes === undefined) return `${firstState} was not recorded.`
  if (vouched !== undefined && sha256Of(bytes) !== vouched)
    return `${firstState} is not known: archive/base.json is not what it was when it was recorded.`
  return parseStart(bytes) ?? `${firstState} is not known: archive/base.json is not of its schema.`
}

/** Undefined when it is missing, empty (as a power cut may leave it), or not of its schema. */
export function findStart(directory: string): StartState | undefined {
  const bytes = startBytes(directory)
  return bytes === undefined ? undefined : parseStart(bytes)
}

const parseStart = (bytes: Buffer): StartState | undefined =>
  parseJson(bytes.toString('utf8'), (value) => startStateSchema.safeParse(value).data)

function startBytes(directory: string): Buffer | undefined {
  try {
    return readFileSync(startFile(directory))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

function hashIn({ files }: EventData): string | undefined {
  const hash =
    typeof files === 'object' && files !== null && !Array.isArray(files) ? files['archive/base.json'] : undefined
  return typeof hash === 'string' ? hash : undefined
}

function parseJson<Result>(text: string, parse: (value: unknown) => Result | undefined): Result | undefined {
  try {
    return parse(JSON.parse(text))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
