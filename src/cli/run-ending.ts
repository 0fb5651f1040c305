// What a person is told when a run has ended: how, what was delivered, where it lies, and what can be done with it next.
import { relative } from 'node:path'
import type { FinishedRun } from '../runtime/runs/start.ts'
import { printable, quoted, table } from './output.ts'
import { formatBytes, formatMs } from './units.ts'

const shownDeliverables = 20

export function endingLines(finished: FinishedRun, directory: string): readonly string[] {
  const place = placeOf(finished.directory, directory)
  return [
    printable(`glovebox: ${headline(finished)}`),
    ...table([['run', place], ...deliveredRows(finished), ...nextRows(finished, place)]).map(
      (row) => `  ${printable(row)}`,
    ),
  ]
}

function placeOf(run: string, directory: string): string {
  const shown = relative(directory, run)
  return shown.startsWith('..') ? run : shown
}

function headline({ record, outcome, error }: FinishedRun): string {
  const { status, failure_reason, created_at, updated_at } = record
  const took = formatMs(Date.parse(updated_at) - Date.parse(created_at))
  if (status === 'completed') return `The run is completed after ${took}.`
  if (status === 'review_required') return 'The work is done. The run waits for your review.'
  if (status === 'cancelled') return `The run was cancelled after ${took}.`
  const reason = failure_reason === null ? '' : ` (${failure_reason})`
  if (status === 'lost') return `The run is lost${reason}: ${outcome.summary}`
  // What Glovebox itself could not do has been told above.
  if (error !== undefined) return `The run failed${reason}.`
  return outcome.status === 'completed'
    ? `The run failed${reason}: a required deliverable does not count.`
    : `The run failed${reason}: ${outcome.summary}`
}

function deliveredRows({ deliverables }: FinishedRun): readonly (readonly string[])[] {
  const shown = deliverables
    .slice(0, shownDeliverables)
    .map(({ path, size }, index) => [index === 0 ? 'delivered' : '', `${path} (${formatBytes(size ?? 0)})`])
  const more = deliverables.length - shown.length
  if (shown.length === 0) return [['delivered', 'nothing']]
  return more > 0 ? [...shown, ['', `and ${more} more`]] : shown
}

function nextRows({ record }: FinishedRun, place: string): readonly (readonly string[])[] {
  const run = quoted(place)
  if (record.status === 'review_required') {
    return [
      ['approve', `glovebox runs approve ${run}`],
      ['send back', `glovebox runs revise ${run} --message "…"`],
    ]
  }
  return [
    ['verify', `glovebox runs verify ${run}`],
    ['replay', `glovebox runs replay ${run}`],
  ]
}
