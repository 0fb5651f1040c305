// `glovebox runs list | show | events | artifacts` of a server.
import type { Glovebox, RunDetail, RunStatus, RunSummary } from '../../../client/index.ts'
import { runStatuses } from '../../../contract/run.ts'
import { jsonLine, printable, table } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { watchInterrupts } from '../../signals.ts'
import { artifactTable, type ArtifactsFlags } from '../runs/artifacts.ts'
import { eventLine, type EventsFlags } from '../runs/events.ts'
import type { ListFlags } from '../runs/list.ts'
import { openPaint, shortener, when, type RunsFlags } from '../runs/told.ts'
import { findRun, serverOf } from './find.ts'

export async function listRemote(flags: ListFlags, doing: Doing): Promise<number> {
  const listed: RunSummary[] = []
  for await (const run of serverOf(flags, doing).runs.each(filterOf(flags))) if (isWanted(run, flags)) listed.push(run)
  const { out } = doing.face
  if (flags.json === true) await out.write(listed.map(jsonLine).join(''))
  else if (flags.quiet === true) await out.write(listed.map(({ run_id }) => `${run_id}\n`).join(''))
  else if (listed.length > 0) await out.write(asTable(listed, flags))
  if (listed.length === 0) await doing.face.err.write('glovebox: The server has no such runs.\n')
  return 0
}

/** One state the server can look for itself. */
function filterOf({ status = [] }: ListFlags): { readonly status?: RunStatus } {
  const known = runStatuses.find((each) => each === status[0])
  return status.length === 1 && known !== undefined ? { status: known } : {}
}

const isWanted = (run: RunSummary, { status, session, task }: ListFlags): boolean =>
  (status === undefined || status.includes(run.status)) &&
  (session === undefined || run.session_id.startsWith(session)) &&
  (task === undefined || run.task_id.startsWith(task))

function asTable(listed: readonly RunSummary[], { trunc }: ListFlags): string {
  const whole = (id: string): string => id
  const shortRun = trunc === false ? whole : shortener(listed.map(({ run_id }) => run_id))
  const shortTask = trunc === false ? whole : shortener(listed.map(({ task_id }) => task_id))
  const rows = listed.map((run) => [
    shortRun(run.run_id),
    run.status,
    shortTask(run.task_id),
    run.project ?? '-',
    when(run.created_at),
    run.failure_reason ?? '',
  ])
  const head = ['ID', 'STATUS', 'TASK', 'PROJECT', 'CREATED', 'REASON']
  return `${table([head, ...rows].map((row) => row.map(printable))).join('\n')}\n`
}

export async function showRemote(asked: string, flags: RunsFlags, doing: Doing): Promise<number> {
  const { detail } = await findRun(asked, flags, doing)
  const { out } = doing.face
  if (flags.json === true) await out.write(jsonLine({ ...detail.record, ...detail }))
  else await out.write(await asScreen(detail, doing))
  return 0
}

async function asScreen(detail: RunDetail, { face }: Doing): Promise<string> {
  const { record, crashed, integrity, events, questions, deliverables, summary, project } = detail
  const paint = await openPaint(face)
  const state = record === null ? 'corrupt' : crashed ? 'crashed' : record.status
  const rows: readonly (readonly [string, string | null | undefined])[] = [
    ['run', record?.run_id],
    ['reason', record?.failure_reason],
    ['', summary],
    ['project', project],
    ['task', record?.task_id],
    ['session', record?.session_id],
    ['executor', record?.executor],
    ['created', when(record?.created_at ?? null)],
    ['started', when(record?.started_at ?? null)],
    ['ended', record?.completed_at === null ? null : when(record?.completed_at ?? null)],
    ['deliverables', deliverables.map(({ path }) => path).join(', ')],
    ['events', `${events}${integrity === 'intact' ? '' : `, ${integrity}`}`],
  ]
  const shown = rows.flatMap(([name, value]) =>
    value === null || value === undefined || value === '' ? [] : [[name, value]],
  )
  const lines = table([...shown.map((row) => row.map(printable)), ['status', paint(state)]])
  const asked = questions.map(({ id, text }) => printable(`  ${id}: ${text}`))
  return `${[...lines, ...(asked.length === 0 ? [] : ['', 'Questions:', ...asked])].join('\n')}\n`
}

export async function eventsRemote(asked: string, flags: EventsFlags, doing: Doing): Promise<number> {
  const { glovebox, id } = await findRun(asked, flags, doing)
  const interrupts = watchInterrupts()
  const after = (flags.from ?? 1) - 1
  const { out } = doing.face
  try {
    const source =
      flags.follow === true
        ? glovebox.runs.events(id, { after, signal: interrupts.signal })
        : written(glovebox, id, after)
    for await (const event of source) {
      await out.write(flags.json === true ? jsonLine(event) : eventLine(event))
      if (!out.open || interrupts.received !== undefined) return 0
    }
  } catch (error) {
    if (interrupts.received === undefined) throw error
  } finally {
    interrupts.stop()
  }
  return 0
}

async function* written({ runs }: Glovebox, id: string, from: number) {
  for (let after: number | null = from; after !== null;) {
    const page: Awaited<ReturnType<typeof runs.eventPage>> = await runs.eventPage(id, { after })
    yield* page.items
    after = page.next_after
  }
}

export async function artifactsRemote(asked: string, flags: ArtifactsFlags, doing: Doing): Promise<number> {
  const { glovebox, id } = await findRun(asked, flags, doing)
  const { out, err } = doing.face
  if (flags.get !== undefined) {
    for await (const chunk of glovebox.runs.read(id, flags.get)) {
      await out.write(chunk)
      if (!out.open) return 0
    }
    return 0
  }
  const manifest = await glovebox.runs.artifacts(id)
  const entries = manifest.entries.filter(({ role }) => flags.deliverables !== true || role === 'deliverable')
  await out.write(flags.json === true ? jsonLine({ ...manifest, entries }) : artifactTable(entries))
  if (!manifest.recorded) await err.write('glovebox: The run has not ended: these are its files as they are now.\n')
  if (!manifest.complete) await err.write(`glovebox: The list is not complete: ${manifest.stopped.join(', ')}.\n`)
  return 0
}
