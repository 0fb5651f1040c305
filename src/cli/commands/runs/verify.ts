// `glovebox runs verify`: does a run directory hold together? Works offline and on a copy.
import { verifyRun, type VerifyReport } from '../../../runs/verify.ts'
import type { FindingKind } from '../../../runs/verify-log.ts'
import { listPlaces, locateRun } from '../../../runtime/runs/find.ts'
import { lookAtRun, type RunLook } from '../../../runtime/runs/look.ts'
import { GloveboxError, isGloveboxError } from '../../../errors/error.ts'
import { jsonLine, printable, table } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { formatBytes } from '../../units.ts'
import { notRecovered, type RunsFlags } from './told.ts'

export interface VerifyFlags extends RunsFlags {
  readonly all?: boolean
}

interface Verdict {
  readonly name: string
  readonly exit: number
}

const sound: Verdict = { name: 'ok', exit: 0 }
/** Worst first. Numbers that `audit verify` has too mean the same. */
const verdicts = [
  { name: 'broken', exit: 15 },
  { name: 'truncated', exit: 12 },
  { name: 'file-changed', exit: 17 },
  { name: 'record-differs', exit: 16 },
  { name: 'action-changed', exit: 19 },
  { name: 'artifact-changed', exit: 18 },
  { name: 'torn-tail', exit: 11 },
] as const satisfies readonly Verdict[]

const verdictOf: Readonly<Record<FindingKind, (typeof verdicts)[number]['name']>> = {
  broken: 'broken',
  order: 'broken',
  illegal: 'broken',
  truncated: 'truncated',
  file: 'file-changed',
  run_json: 'record-differs',
  action: 'action-changed',
  artifact: 'artifact-changed',
  torn_tail: 'torn-tail',
}

export async function runsVerify(asked: readonly string[], flags: VerifyFlags, doing: Doing): Promise<number> {
  const exits = new Set<number>()
  for (const directory of directoriesOf(asked, flags, doing)) exits.add(await verifyOne(directory, flags, doing))
  return (verdicts.find(({ exit }) => exits.has(exit)) ?? sound).exit
}

function directoriesOf(asked: readonly string[], { all, root }: VerifyFlags, { directory }: Doing): readonly string[] {
  if (asked.length > 0 === (all === true))
    throw new GloveboxError('INVALID_INPUT', 'Cannot verify: name runs, or say --all, and not both')
  return all === true
    ? listPlaces({ directory, root }).runs.map((run) => run.directory)
    : asked.map((name) => locateRun(name, { directory, root }))
}

async function verifyOne(directory: string, flags: VerifyFlags, { face }: Doing): Promise<number> {
  const report = await verifyRun(directory)
  const names = new Set(report.findings.map(({ kind }) => verdictOf[kind]))
  const { name, exit } = verdicts.find((verdict) => names.has(verdict.name)) ?? sound
  const { pid, isCrashed } = await standing(directory)
  await face.out.write(
    flags.json === true
      ? jsonLine({ directory, verdict: name, exit, ...report, crashed: isCrashed })
      : asText(directory, name, report, isCrashed ? `, ${notRecovered}` : ''),
  )
  if (exit !== 0 && pid !== null)
    await face.err.write('glovebox: A process is writing to this run: what it has not finished is no damage.\n')
  return exit
}

/** Of a directory that holds no log at all nothing can be said. */
async function standing(directory: string): Promise<Pick<RunLook, 'pid' | 'isCrashed'>> {
  try {
    return await lookAtRun(directory)
  } catch (error) {
    if (!isGloveboxError(error)) throw error
    return { pid: null, isCrashed: false }
  }
}

function asText(directory: string, verdict: string, report: VerifyReport, remark: string): string {
  const { checked, findings, status, headHash } = report
  const rows = [
    ['run', directory],
    ['verdict', verdict],
    ['status', `${status ?? 'unknown'}${remark}`],
    ...findings.map(({ kind, subject, detail }) => ['finding', `${kind}: ${subject}: ${detail}`]),
    ['checked', countsOf(checked)],
    ['head', headHash ?? 'none'],
  ]
  return `${table(rows.map((row) => row.map(printable))).join('\n')}\n`
}

const countsOf = (checked: VerifyReport['checked']): string =>
  [
    `${checked.events} events (${formatBytes(checked.eventBytes)})`,
    `${checked.files} files`,
    `${checked.actions} actions with ${checked.actionFiles} files (${formatBytes(checked.actionBytes)})`,
    `${checked.artifacts} artifacts (${formatBytes(checked.artifactBytes)})`,
  ].join(', ')
