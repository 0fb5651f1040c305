// `glovebox runs show`: one run on one screen, and what can be done with it next.
import { basename } from 'node:path'
import type { ArtifactManifest, SandboxManifest } from '../../../contract/artifact.ts'
import { isTerminal, type Deliverable } from '../../../contract/run.ts'
import { readDetails, type RunDetails } from '../../../runtime/runs/details.ts'
import { jsonLine, printable, table } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { formatBytes } from '../../units.ts'
import { eventLine } from './events.ts'
import { asJson, callName, durationOf, openPaint, reasonOf, stateOf, when, type Paint, type RunsFlags } from './told.ts'

const shownEvents = 6
const shownPrompt = 160

export async function runsShow(directory: string, flags: RunsFlags, doing: Doing): Promise<number> {
  const details = await readDetails(directory, shownEvents)
  const next = nextCommands(details, callName(directory, doing))
  await doing.face.out.write(
    flags.json === true ? jsonLine(forMachines(details, next)) : asScreen(details, next, await openPaint(doing.face)),
  )
  return 0
}

function forMachines(details: RunDetails, next: readonly string[]): Record<string, unknown> {
  const { artifacts, problems, lastEvents: _, ...rest } = details
  const look = asJson(details)
  const told = Object.fromEntries(Object.entries(rest).filter(([name]) => !(name in look) && !ownNames.has(name)))
  const totals =
    artifacts === null ? null : { ...artifacts.totals, complete: artifacts.complete, stopped: artifacts.stopped }
  return { ...look, ...told, artifacts: totals, deliverable_problems: problems, next }
}

/** Told by `asJson` under other names. */
const ownNames = new Set(['record', 'isCrashed'])

function asScreen(details: RunDetails, next: readonly string[], paint: Paint): string {
  const rows = [...identity(details, paint), ...times(details), ...work(details), ...outcome(details)]
  const lines = table(rows.map(([name = '', ...cells]) => [name, ...cells.map(printableButColour)]))
  const asked = details.questions.flatMap(({ id, text, choices }) => [
    printable(`  ${id}: ${text}`),
    ...(choices === null ? [] : [printable(`    choices: ${choices.join(', ')}`)]),
  ])
  return [
    ...lines,
    ...section('Questions', asked),
    ...section(
      'Last events',
      details.lastEvents.map((event) => eventLine(event).trimEnd()),
    ),
    ...section(
      'Next',
      next.map((command) => `  $ ${command}`),
    ),
    '',
  ].join('\n')
}

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ['', `${title}:`, ...lines]

type Row = readonly string[]

const coloured = /^\u001b\[\d+m[a-z_]+\u001b\[\d+m$/
/** The one cell that is painted holds a word of ours. */
const printableButColour = (cell: string): string => (coloured.test(cell) ? cell : printable(cell))

/** A row where there is something to say. */
const row = (name: string, text: string | null | undefined): readonly Row[] =>
  text === null || text === undefined || text === '' ? [] : [[name, text]]

const titled = (id: string | undefined, title: string | null | undefined): string | undefined =>
  id === undefined || typeof title !== 'string' ? id : `${id}  "${title}"`

function identity(details: RunDetails, paint: Paint): readonly Row[] {
  const { record, directory, session, task } = details
  const origin = record?.forked_from ?? undefined
  return [
    ['run', record?.run_id ?? basename(directory)],
    ['status', paint(stateOf(details))],
    ...row('reason', reasonOf(details)),
    ...row('', details.summary),
    ...row('message', details.message),
    ['directory', directory],
    ...row('task', titled(record?.task_id, task?.title)),
    ...row('session', titled(record?.session_id, session?.title)),
    ...row('revises', record?.revision_of),
    ...row('forked', origin === undefined ? undefined : `from ${origin.run_id} at event ${origin.seq}`),
  ]
}

function times(details: RunDetails): readonly Row[] {
  const { record } = details
  if (record === null) return []
  const end = record.completed_at === null ? '' : `, ended ${when(record.completed_at)}`
  const duration = durationOf(details, Date.now())
  return [
    ['created', when(record.created_at)],
    ['started', `${when(record.started_at)}${end}${duration === '-' ? '' : ` (${duration})`}`],
    ...row('process', details.pid === null ? null : String(details.pid)),
  ]
}

function work({ prompt, record, sandbox, actions }: RunDetails): readonly Row[] {
  return [
    ...row('prompt', prompt === null ? null : excerpt(prompt)),
    ['executor', record?.executor ?? '-'],
    ...row('profile', record?.profile_id),
    ...row('sandbox', sandbox === null ? null : boundary(sandbox)),
    ['actions', String(actions)],
  ]
}

function boundary({ backend, backend_version, mounts, policy }: SandboxManifest): string {
  const network = policy.find(({ field }) => field === 'network')?.value
  const mode = typeof network === 'object' && network !== null && 'mode' in network ? network.mode : undefined
  const told = typeof mode === 'string' ? `, network ${mode}` : ''
  return `${[backend ?? '-', backend_version ?? ''].join(' ').trim()}, ${mounts.length} mounts${told}`
}

function excerpt(prompt: string): string {
  const [first = ''] = prompt.trim().split('\n')
  const lines = prompt.trimEnd().split('\n').length
  const cut = first.length > shownPrompt ? `${first.slice(0, shownPrompt)}…` : first
  return lines > 1 ? `${cut} (${lines} lines in prompt.md)` : cut
}

function outcome(details: RunDetails): readonly Row[] {
  const { artifacts, task, events, integrity, doubts } = details
  return [
    ...(task?.deliverables ?? []).map((one, index) => [index === 0 ? 'deliverables' : '', judged(one, details)]),
    ...row('artifacts', artifacts === null ? null : counted(artifacts)),
    ['events', `${events}${integrity === 'intact' ? '' : `, ${integrity}`}`],
    ...doubts.map((doubt) => ['doubt', doubt]),
  ]
}

function counted({ totals, complete, stopped }: ArtifactManifest): string {
  const left = complete ? '' : ` (not complete: ${stopped.join(', ')})`
  return `${totals.files} files, ${formatBytes(totals.bytes)}${left}`
}

function judged({ path }: Deliverable, { problems }: RunDetails): string {
  if (problems === null) return `${path}  (not judged yet)`
  return `${path}  ${problems.find((problem) => problem.path === path)?.reason ?? 'ok'}`
}

function nextCommands({ isCrashed, damage, record, questions, pid }: RunDetails, name: string): readonly string[] {
  if (damage !== null || record === null) return [`glovebox runs verify ${name}`]
  if (isCrashed) return ['glovebox runs recover']
  const { status } = record
  if (isTerminal(status)) return ['artifacts', 'verify', 'replay'].map((verb) => `glovebox runs ${verb} ${name}`)
  // Made by a fork, and not begun yet.
  if (pid === null && status === 'pending')
    return [`glovebox runs fork ${name} --start`, `glovebox runs cancel ${name}`]
  if (status === 'revision_required') return [`glovebox run --revises ${name}`]
  if (status === 'review_required')
    return ['artifacts', 'approve', 'revise --message "…"'].map((verb) => `glovebox runs ${verb} ${name}`)
  return [
    ...questions.map(({ id }) => `glovebox runs answer ${name} --question ${id} "…"`),
    `glovebox runs events -f ${name}`,
    `glovebox runs cancel ${name}`,
  ]
}
