// Kills a process that writes a run, and holds what it left against what it had been answered. The auditor reads lines
// with JSON.parse; the two verifiers share no code with the writer. Only opening, which repairs, is the writer's own.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openAuditLog } from '../../src/audit/log.ts'
import { verifyAudit } from '../../src/audit/verify.ts'
import type { HostPath } from '../../src/contract/mount.ts'
import { transitions, type RunStatus } from '../../src/contract/run.ts'
import { openRun } from '../../src/runs/open.ts'
import { verifyRun } from '../../src/runs/verify.ts'

const program = fileURLToPath(new URL('./hosts/run-writer.mjs', import.meta.url))
const dist = fileURLToPath(new URL('../../dist', import.meta.url))

export interface Answers {
  readonly signal: NodeJS.Signals | null
  /** `seq hash` of each event. */
  readonly events: readonly string[]
  readonly states: readonly string[]
  readonly audited: readonly number[]
  readonly stderr: string
}

export interface Attempt {
  readonly directory: string
  /** Where the audit log and its key lie. */
  readonly audit: string
  readonly verb: 'write' | 'open'
  readonly seed?: number
  readonly failpoints?: string
  /** So long after it has said so many lines. Absent: it ends by itself, or at a failpoint. */
  readonly killAfter?: { readonly lines: number; readonly ms: number }
}

export function attempt({ verb, seed = 1, failpoints = '', killAfter, ...places }: Attempt): Promise<Answers> {
  const child = spawn(process.execPath, [program, JSON.stringify({ dist, verb, seed, failpoints, ...places })])
  let [stdout, stderr, isDoomed] = ['', '', false]
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    if (isDoomed || killAfter === undefined || stdout.split('\n').length <= killAfter.lines) return
    isDoomed = true
    setTimeout(() => child.kill('SIGKILL'), killAfter.ms)
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (_code, signal) => resolve({ signal, stderr, ...answersIn(stdout) }))
  })
}

function answersIn(stdout: string): Pick<Answers, 'events' | 'states' | 'audited'> {
  // Behind the last line break may stand half a line.
  const lines = stdout.split('\n').slice(0, -1)
  const said = (word: string): readonly string[] =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1))
  return { events: said('seq'), states: said('state'), audited: said('audit').map(Number) }
}

export interface Aftermath {
  /** Undefined: there is no such run. */
  readonly status: RunStatus | undefined
  readonly faults: readonly string[]
}

interface Line {
  readonly seq: number
  readonly hash: string
  readonly type: string
  readonly data: { readonly to?: string }
}

const linesIn = (path: string): readonly Line[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)

/** Opens the directory, and holds it against what the dead process was answered. */
export async function auditRun(directory: string, answers: Pick<Answers, 'events' | 'states'>): Promise<Aftermath> {
  // A run of which nobody was told need not be there, and if it is, it is whole.
  if (!existsSync(directory))
    return { status: undefined, faults: answers.states.length === 0 ? [] : ['it was answered and is not there'] }
  const { run } = await openRun(directory)
  await run.close()
  const { findings } = await verifyRun(directory)
  const faults = findings.map(({ kind, subject, detail }) => `${kind} ${subject}: ${detail}`)
  const check = (holds: boolean, fault: string): void => void (holds || faults.push(fault))
  const lines = linesIn(join(directory, 'events.jsonl'))
  check(
    lines.every(({ seq }, index) => seq === index + 1),
    'seq has a gap',
  )
  const known = new Set(lines.map(({ seq, hash }) => `${seq} ${hash}`))
  const gone = answers.events.filter((each) => !known.has(each))
  check(gone.length === 0, `${gone.length} answered events are gone`)
  check(new Set(answers.events).size === answers.events.length, 'an event was answered twice')
  const ends = lines.flatMap(({ type }, index) => (type === 'run_ended' ? [index] : []))
  check(ends.length === 1 && ends[0] === lines.length - 1, `it has ${ends.length} ends, or something behind its end`)
  const reached = ['pending', ...lines.flatMap(({ data }) => data.to ?? [])]
  check(
    answers.states.every((state, index) => reached[index] === state),
    `it was answered as ${answers.states.join(', ')} and went ${reached.join(', ')}`,
  )
  check(transitions[run.record.status].length === 0, `it is ${run.record.status}`)
  const left = readdirSync(directory).filter((name) => name.endsWith('.tmp'))
  check(left.length === 0, `${left.join(', ')} was left`)
  return { status: run.record.status, faults }
}

/** The audit log of all that were killed: nothing answered is gone, and what was begun has an end. */
export async function auditTheLog(place: string, audited: readonly number[]): Promise<readonly string[]> {
  const directory = join(place, 'audit') as HostPath
  await (await openAuditLog({ directory, keyDirectory: join(place, 'keys') as HostPath })).close()
  const { verdict, openIntents } = verifyAudit(directory)
  const segments = readdirSync(directory).filter((name) => name.startsWith('segment-'))
  const known = new Set(segments.flatMap((name) => linesIn(join(directory, name))).map(({ seq }) => seq))
  const gone = audited.filter((seq) => !known.has(seq))
  return [
    ...(verdict === 'ok' ? [] : [`the audit log is ${verdict}`]),
    ...(openIntents === 0 ? [] : [`${openIntents} intents have no end`]),
    ...(gone.length === 0 ? [] : [`${gone.length} answered audit records are gone`]),
  ]
}
