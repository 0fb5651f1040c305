// The report of a replay for a person: what is the same in one line, what is not with the bytes side by side.
import type { ArtifactComparison, Comparison, Difference, ReplayReport } from '../../../runtime/runs/replay.ts'
import { causeText, summaryOf } from '../../../runtime/runs/replay.ts'
import { printable } from '../../output.ts'

const shownAtMost = 50

export function replayText(report: ReplayReport, called: string): string {
  const { replay, actions, artifacts, comparisons, artifactComparisons } = report
  const lines = [
    summaryOf(actions, 'action'),
    ...bounded(
      comparisons.filter(({ result }) => result === 'differs'),
      actionLines,
    ),
    summaryOf(artifacts, 'artifact'),
    ...bounded(
      artifactComparisons.filter(({ result }) => result === 'differs'),
      artifactLines,
    ),
    ...section('Repeated, but not comparable:', comparisons.filter(isResult('not_comparable')).map(reasonLine)),
    ...section('Not repeated:', comparisons.filter(isResult('not_repeated')).map(reasonLine)),
    ...section('Not comparable:', artifactComparisons.filter(isResult('not_comparable')).map(artifactReason)),
    ...section('Compared only in part:', comparisons.flatMap(cutLines)),
    ...section('Not supplied, name it with --env NAME=value:', notSuppliedLines(report)),
    ...section('Not the same as then:', [...report.remarks, ...overlapLine(comparisons)]),
    ...endLines(report),
    `The replay is recorded in ${replay.directory}; check it: glovebox runs verify ${called}`,
  ]
  return `${lines.map((line) => printable(line).trimEnd()).join('\n')}\n`
}

function endLines({ original, replay, actions }: ReplayReport): readonly string[] {
  if (replay.status === 'completed') return []
  const { identical, differs, notComparable, notRepeated } = actions
  const left = original.actions - identical - differs - notComparable - notRepeated
  const reason = replay.reason === null || replay.reason === replay.status ? '' : ` (${replay.reason})`
  return [
    ...(left > 0 ? [`${left} of ${original.actions} actions were not reached.`] : []),
    `The replay is ${replay.status}${reason}: ${replay.summary}`,
  ]
}

function bounded<Item>(items: readonly Item[], told: (item: Item) => readonly string[]): readonly string[] {
  const more = items.length - shownAtMost
  return [...items.slice(0, shownAtMost).flatMap(told), ...(more > 0 ? [`  and ${more} more; --json tells all.`] : [])]
}

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [title, ...bounded(lines, (line) => [`  ${line}`])]

const nameOf = ({ number, action, about }: Comparison): string =>
  `#${number} ${action === 'run' ? about : `${action} ${about}`}`.trimEnd()

const actionLines = (comparison: Comparison): readonly string[] => [
  `  ${nameOf(comparison)}`,
  ...comparison.differences.flatMap(differenceLines),
]

const artifactLines = ({ path, differences }: ArtifactComparison): readonly string[] => [
  `  ${path}`,
  ...differences.flatMap(differenceLines),
]

/** Both sides one below the other, and a mark below the first byte that differs. */
function differenceLines({ part, place, detail, cause }: Difference): readonly string[] {
  const first = `    ${part}: ${detail}${causeText(cause)}`
  if (place === null) return [first]
  const { before, original, replayed } = place
  return [first, `      then  ${before}${shown(original)}`, `      now   ${before}${shown(replayed)}`, mark(before)]
}

const mark = (before: string): string => `            ${' '.repeat(before.length)}^`
const shown = (text: string): string => (text === '' ? '(it ends here)' : text)

type Judged = { readonly result: Comparison['result'] }
const isResult =
  (wanted: Comparison['result']) =>
  ({ result }: Judged): boolean =>
    result === wanted

const reasonLine = (comparison: Comparison): string => `${nameOf(comparison)}: ${comparison.reason ?? ''}`
const artifactReason = ({ path, reason }: ArtifactComparison): string => `${path}: ${reason ?? ''}`

const cutLines = (comparison: Comparison): readonly string[] =>
  comparison.cut.map(
    ({ part, comparedBytes, bytes }) =>
      `${nameOf(comparison)}: the first ${comparedBytes} of ${bytes} bytes of ${part}`,
  )

function notSuppliedLines({ notSupplied, comparisons }: ReplayReport): readonly string[] {
  const lacking = comparisons.filter((comparison) => comparison.notSupplied.length > 0)
  return [
    ...(notSupplied.length === 0 ? [] : [`the sandbox: ${notSupplied.join(', ')}`]),
    ...lacking.map((comparison) => `#${comparison.number}: ${comparison.notSupplied.join(', ')}`),
  ]
}

function overlapLine(comparisons: readonly Comparison[]): readonly string[] {
  const numbers = comparisons.filter(({ overlapped }) => overlapped).map(({ number }) => `#${number}`)
  if (numbers.length === 0) return []
  const told = numbers.slice(0, 10).join(', ')
  const more = numbers.length > 10 ? ` and ${numbers.length - 10} more` : ''
  return [`${told}${more} ran beside other actions then, and one after another now`]
}
