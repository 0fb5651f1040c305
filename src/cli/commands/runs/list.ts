// `glovebox runs list`: the runs of a root, newest first. A directory that cannot be read is told, never passed over.
import { isGloveboxError } from '../../../errors/error.ts'
import { listPlaces, type RunPlace } from '../../../runtime/runs/find.ts'
import { glanceAtRun, type RunLook } from '../../../runtime/runs/look.ts'
import { jsonLine, printable, table } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { asJson, durationOf, openPaint, reasonOf, shortener, stateOf, when, type RunsFlags } from './told.ts'

export interface ListFlags extends RunsFlags {
  readonly quiet?: boolean
  readonly trunc?: boolean
  readonly status?: readonly string[]
  readonly session?: string
  readonly task?: string
}

interface Listed {
  readonly place: RunPlace
  readonly look: RunLook
}

interface Unreadable {
  readonly place: RunPlace
  readonly code: string
  readonly cause: string
}

export async function runsList(flags: ListFlags, doing: Doing): Promise<number> {
  const { root, runs, others } = listPlaces({ directory: doing.directory, root: flags.root })
  const seen: (Listed | Unreadable)[] = []
  // One after the other: a thousand crashed runs must not open a thousand logs at once.
  for (const place of runs) seen.push(await lookAt(place))
  const unreadable = seen.filter((one): one is Unreadable => 'cause' in one)
  const listed = seen
    .filter((one): one is Listed => 'look' in one)
    .filter(({ look }) => isWanted(look, flags))
    .toSorted((one, other) => createdAt(other).localeCompare(createdAt(one)))
  await doing.face.out.write(await render(listed, unreadable, runs, flags, doing))
  await tell(unreadable, others, flags, doing)
  if (runs.length === 0) await doing.face.err.write(`glovebox: There are no runs in ${printable(root)}.\n`)
  return unreadable.length === 0 ? 0 : 1
}

async function lookAt(place: RunPlace): Promise<Listed | Unreadable> {
  try {
    return { place, look: await glanceAtRun(place.directory) }
  } catch (error) {
    if (!isGloveboxError(error)) throw error
    return { place, code: error.code, cause: error.message }
  }
}

function isWanted(look: RunLook, { status, session, task }: ListFlags): boolean {
  return (
    (status === undefined || status.includes(stateOf(look))) &&
    (session === undefined || look.record?.session_id.startsWith(session) === true) &&
    (task === undefined || look.record?.task_id.startsWith(task) === true)
  )
}

const createdAt = ({ look, place }: Listed): string => `${look.record?.created_at ?? ''} ${place.name}`

async function render(
  listed: readonly Listed[],
  unreadable: readonly Unreadable[],
  all: readonly RunPlace[],
  flags: ListFlags,
  doing: Doing,
): Promise<string> {
  if (flags.json === true) {
    const bad = unreadable.map(({ place, code, cause }) => ({
      run_id: place.runId,
      directory: place.directory,
      error: { code, message: cause },
    }))
    return [...listed.map(({ look }) => asJson(look)), ...bad].map(jsonLine).join('')
  }
  if (flags.quiet === true) return listed.map(({ place, look }) => `${look.record?.run_id ?? place.name}\n`).join('')
  return listed.length === 0 ? '' : asTable(listed, all, flags, doing)
}

async function asTable(
  listed: readonly Listed[],
  all: readonly RunPlace[],
  flags: ListFlags,
  doing: Doing,
): Promise<string> {
  const whole = (id: string): string => id
  const shortRun =
    flags.trunc === false ? whole : shortener(all.flatMap(({ runId }) => (runId === null ? [] : [runId])))
  const shortTask = flags.trunc === false ? whole : shortener(listed.flatMap(({ look }) => look.record?.task_id ?? []))
  const now = Date.now()
  const rows = listed.map(({ place, look }) => [
    idCell(place, look, shortRun),
    stateOf(look),
    look.record === null ? '-' : shortTask(look.record.task_id),
    when(look.record?.started_at ?? null),
    durationOf(look, now),
    reasonOf(look),
  ])
  const lines = table(
    [['ID', 'STATUS', 'TASK', 'STARTED', 'DURATION', 'REASON'], ...rows].map((row) => row.map(printable)),
  )
  const paint = await openPaint(doing.face)
  // Painted after the columns are laid out, since colour codes have a length but no width.
  const at = lines[0]?.indexOf('STATUS') ?? 0
  return lines
    .map((line) => {
      const [state = ''] = /^\w*/.exec(line.slice(at)) ?? []
      return `${line.slice(0, at)}${paint(state)}${line.slice(at + state.length)}\n`
    })
    .join('')
}

/** Where the directory has a name of its own, that name can be used too. */
function idCell(place: RunPlace, { record }: RunLook, short: (id: string) => string): string {
  if (record === null) return place.name
  return place.name === record.run_id ? short(record.run_id) : `${short(record.run_id)} (${place.name})`
}

async function tell(
  unreadable: readonly Unreadable[],
  others: readonly string[],
  flags: ListFlags,
  { face }: Doing,
): Promise<void> {
  for (const { place, cause } of unreadable) await face.err.write(`glovebox: ${printable(`${place.name}: ${cause}`)}\n`)
  if (others.length === 0 || flags.quiet === true) return
  const names = others.slice(0, 5).join(', ')
  const more = others.length > 5 ? `, and ${others.length - 5} more` : ''
  await face.err.write(`glovebox: No runs, and therefore not listed: ${printable(names)}${more}\n`)
}
