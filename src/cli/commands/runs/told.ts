// How runs are told to a person: states, times, ids, and the words that are the same in every command.
import { basename, dirname, join, relative } from 'node:path'
import { needsOwner, runStatuses, type RunRecord } from '../../../contract/run.ts'
import type { RunLook } from '../../../runtime/runs/look.ts'
import type { Face } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { formatMs } from '../../units.ts'

export interface RunsFlags {
  readonly root?: string
  readonly server?: string
  readonly tokenFile?: string
  readonly json?: boolean
  readonly debug?: boolean
}

export const notRecovered = 'crashed, not yet recovered'

/** By which runs can be listed: those of run.json, and two that only a reader can see. */
export const states = [...runStatuses, 'crashed', 'corrupt'] as const

/** As people filter and read it; run.json knows neither `crashed` nor `corrupt`. */
export function stateOf({ record, damage, isCrashed }: RunLook): string {
  if (record === null || damage !== null) return 'corrupt'
  return isCrashed ? 'crashed' : record.status
}

export function reasonOf({ record, damage, isCrashed }: RunLook): string {
  if (record === null || damage !== null) return damage ?? 'not even the first event can be read'
  return isCrashed ? `${notRecovered}; it was ${record.status}` : (record.failure_reason ?? '')
}

export const when = (timestamp: string | null): string => (timestamp === null ? '-' : timestamp.replace(/\.\d+Z$/, 'Z'))

/** Of a crashed run nobody knows how long it worked. */
export function durationOf({ record, isCrashed }: RunLook, now: number): string {
  if (record === null || record.started_at === null || isCrashed) return '-'
  const end = needsOwner(record.status) ? now : Date.parse(record.completed_at ?? record.updated_at)
  return formatMs(Math.max(0, end - Date.parse(record.started_at)))
}

/** What a machine reads of a run, in every command. */
export const asJson = (look: RunLook): Record<string, unknown> => ({
  ...look.record,
  directory: look.directory,
  state: stateOf(look),
  crashed: look.isCrashed,
  damage: look.damage,
  pid: look.pid,
})

export type Paint = (state: string) => string

export async function openPaint(face: Face): Promise<Paint> {
  if (!face.colour) return (state) => state
  const { createColors } = await import('picocolors').then((module) => module.default)
  const { green, red, yellow, cyan } = createColors(true)
  const colours: Readonly<Record<string, (text: string) => string>> = {
    completed: green,
    failed: red,
    lost: red,
    crashed: red,
    corrupt: red,
    running: cyan,
    waiting_for_tool: cyan,
    waiting_for_user: yellow,
    review_required: yellow,
    revision_required: yellow,
  }
  return (state) => colours[state]?.(state) ?? state
}

const madeId = /^(?:run|task|sess)_[0-9a-f]{32}$/
const customaryLength = 'run_'.length + 12

/** Made ids, as short as they can be told apart, and equally long. Others are a person's own and stay whole. */
export function shortener(ids: readonly string[]): (id: string) => string {
  const made = [...new Set(ids.filter((id) => madeId.test(id)))].toSorted()
  let length = customaryLength
  made.forEach((id, index) => {
    const before = made[index - 1] ?? ''
    while (length < id.length && before.slice(0, length) === id.slice(0, length)) length += 1
  })
  return (id) => (madeId.test(id) ? id.slice(0, length) : id)
}

export const endedLine = ({ run_id, status, failure_reason }: RunRecord): string =>
  `${run_id} is ${status}${failure_reason === null ? '' : ` (${failure_reason})`}`

/** How the run is called from here: by its name among ./runs, else by its path. */
export function callName(directory: string, doing: Doing): string {
  const isCustomary = dirname(directory) === join(doing.directory, 'runs')
  const called = isCustomary ? basename(directory) : relative(doing.directory, directory) || '.'
  return /^[\w./:-]+$/.test(called) ? called : `'${called.replaceAll("'", String.raw`'\''`)}'`
}
