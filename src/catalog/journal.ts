// What was done in a sandbox, newest last, with the counts of all that came before: a bounded memory that costs a command a few
// small objects. It is put into words when somebody looks, each line once.
import type { CatalogDeed, CatalogEvent } from '../contract/catalog.ts'
import type { Denial } from '../contract/denial.ts'
import type { Ended } from '../contract/exec.ts'
import { nowMs } from './clock.ts'

export interface Deed {
  /** `run` for a command; else the action's name. */
  readonly action: string
  readonly about: string
  readonly shellId?: string
}

/** How it ended: as a command does, or not as one. */
export interface DeedResult {
  readonly ended?: Ended
  readonly exitCode?: number
  readonly stdoutBytes?: Uint8Array
  readonly stderrBytes?: Uint8Array
  readonly stdoutTotalBytes?: number
  readonly stderrTotalBytes?: number
  readonly denials?: readonly Denial[]
}

export interface DeedEnd {
  ended(result: DeedResult): void
  refused(code: string): void
}

export interface Counts {
  readonly commands: number
  readonly actions: number
  readonly commandMs: number
  readonly stdoutBytes: number
  readonly stderrBytes: number
  readonly succeeded: number
  readonly failed: number
  readonly timedOut: number
  readonly refused: number
  readonly denials: number
}

export interface RunningDeed {
  readonly number: number
  readonly action: string
  readonly about: string
  readonly startedAt: string
}

export interface LastOutput {
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
}

export interface Journal {
  begin(deed: Deed): DeedEnd
  note(type: CatalogEvent['type'], summary: string): void
  readonly counts: Counts
  readonly running: readonly RunningDeed[]
  readonly last: CatalogDeed | null
  readonly lastOutput: LastOutput
  history(): CatalogDeed[]
  events(): CatalogEvent[]
  historyLines(): string
  eventLines(): string
}

export interface JournalOptions {
  readonly redact: (text: string) => string
  /** `late`: something has only begun. */
  readonly onChange: (when: 'soon' | 'late') => void
}

const keptDeeds = 100
const keptEvents = 200
const keptOutputBytes = 32 * 1024
const mostAbout = 500
const mostDenials = 5
const mostOwed = 32
const nothing = new Uint8Array()
const none = { succeeded: 0, failed: 0, timedOut: 0, refused: 0, denials: 0 }

export function openJournal({ redact, onChange }: JournalOptions): Journal {
  let counts: Counts = { commands: 0, actions: 0, commandMs: 0, stdoutBytes: 0, stderrBytes: 0, ...none }
  let begun = 0
  let seq = 0
  let last: CatalogDeed | null = null
  let lastOutput: LastOutput = { stdout: nothing, stderr: nothing }
  const running = new Map<number, RunningDeed>()
  const deeds = ring<CatalogDeed>(keptDeeds)
  const events = ring<CatalogEvent>(keptEvents)

  /** What happened and is not put into words yet: somebody waits for a command's end, and mostly nobody for its words. */
  const owed: (() => void)[] = []
  const later = (words: () => void): void => {
    owed.push(words)
    if (owed.length >= mostOwed) settleUp()
  }
  const settleUp = (): void => {
    for (const words of owed.splice(0)) words()
  }

  const add = (type: CatalogEvent['type'], summary: string, number: number | null, atMs: number): void => {
    seq += 1
    events.add({ seq, at: new Date(atMs).toISOString(), type, number, summary: shortened(summary) })
  }

  const finish = (deed: CatalogDeed, result: DeedResult, atMs: number): void => {
    running.delete(deed.number)
    counts = counted(counts, deed)
    deeds.add(deed)
    if (deed.ended !== null) {
      last = deed
      lastOutput = { stdout: tail(result.stdoutBytes), stderr: tail(result.stderrBytes) }
    }
    for (const denial of deed.denials) add('denied', denial, deed.number, atMs)
    add(deed.error === null ? 'ended' : 'refused', `${titleOf(deed)}: ${endOf(deed)}`, deed.number, atMs)
  }

  return {
    begin({ action, about, shellId }) {
      const startedMs = nowMs()
      const number = ++begun
      // At once, and not when it is put into words: what is a secret now may not be known for one then.
      const shown = shortened(redact(about))
      const startedAtMs = Date.now()
      later(() => {
        running.set(number, { number, action, about: shown, startedAt: new Date(startedAtMs).toISOString() })
        add('began', titleOf({ action, about: shown }), number, startedAtMs)
      })
      onChange('late')
      const end = (result: DeedResult, error: string | null): void => {
        const durationMs = Math.max(0, Math.round(nowMs() - startedMs))
        const came = outcome(result, redact)
        const atMs = Date.now()
        later(() => {
          const startedAt = new Date(startedAtMs).toISOString()
          const told = { number, action, about: shown, shellId: shellId ?? null, startedAt, durationMs, error }
          finish({ ...told, ...came }, result, atMs)
        })
        // What is large is not kept for longer than it is needed.
        if (sizeOf(result) > keptOutputBytes) settleUp()
        onChange('soon')
      }
      return { ended: (result) => end(result, null), refused: (code) => end({}, code) }
    },
    note(type, summary) {
      settleUp()
      add(type, summary, null, Date.now())
      onChange('soon')
    },
    get counts() {
      settleUp()
      return counts
    },
    get running() {
      settleUp()
      return [...running.values()]
    },
    get last() {
      settleUp()
      return last
    },
    get lastOutput() {
      settleUp()
      return lastOutput
    },
    history() {
      settleUp()
      return deeds.all()
    },
    events() {
      settleUp()
      return events.all()
    },
    historyLines() {
      settleUp()
      return deeds.lines()
    },
    eventLines() {
      settleUp()
      return events.lines()
    },
  }
}

const sizeOf = ({ stdoutBytes = nothing, stderrBytes = nothing }: DeedResult): number =>
  stdoutBytes.length + stderrBytes.length

function outcome(
  result: DeedResult,
  redact: (text: string) => string,
): Pick<CatalogDeed, 'ended' | 'exitCode' | 'stdoutBytes' | 'stderrBytes' | 'denials'> {
  const denials = (result.denials ?? []).slice(0, mostDenials)
  return {
    ended: result.ended ?? null,
    exitCode: result.exitCode ?? null,
    stdoutBytes: result.stdoutTotalBytes ?? 0,
    stderrBytes: result.stderrTotalBytes ?? 0,
    denials: denials.map(({ kind, subject, rule }) => shortened(redact(`${kind} ${subject} (${rule})`))),
  }
}

function counted(before: Counts, deed: CatalogDeed): Counts {
  const isCommand = deed.ended !== null
  const isTimedOut = deed.ended?.by === 'timeout'
  const isFailed = isCommand && !isTimedOut && deed.exitCode !== 0
  const isRefused = deed.error !== null
  return {
    commands: before.commands + Number(isCommand),
    actions: before.actions + Number(deed.action !== 'run'),
    commandMs: before.commandMs + (isCommand ? deed.durationMs : 0),
    stdoutBytes: before.stdoutBytes + deed.stdoutBytes,
    stderrBytes: before.stderrBytes + deed.stderrBytes,
    succeeded: before.succeeded + Number(!isFailed && !isTimedOut && !isRefused),
    failed: before.failed + Number(isFailed),
    timedOut: before.timedOut + Number(isTimedOut),
    refused: before.refused + Number(isRefused),
    denials: before.denials + deed.denials.length,
  }
}

const titleOf = ({ action, about }: Pick<CatalogDeed, 'action' | 'about'>): string =>
  about === '' ? action : action === 'run' ? about : `${action} ${about}`

function endOf({ ended, exitCode, error, durationMs }: CatalogDeed): string {
  if (error !== null) return error
  if (ended === null) return `done in ${durationMs} ms`
  return `${ended.by === 'exit' ? `exit ${exitCode}` : ended.by} after ${durationMs} ms`
}

const shortened = (text: string): string => (text.length <= mostAbout ? text : `${text.slice(0, mostAbout - 1)}…`)

/** A copy, so that a small end does not keep a large whole in memory. */
const tail = (bytes: Uint8Array = nothing): Uint8Array =>
  bytes.length <= keptOutputBytes ? bytes : Uint8Array.from(bytes.subarray(-keptOutputBytes))

interface Ring<Entry> {
  add(entry: Entry): void
  all(): Entry[]
  /** Each on a line of its own. */
  lines(): string
}

/** The last so many. Each is put into words at most once. */
function ring<Entry>(size: number): Ring<Entry> {
  let kept: { readonly entry: Entry; line: string | undefined }[] = []
  return {
    add(entry) {
      kept.push({ entry, line: undefined })
      if (kept.length >= 2 * size) kept = kept.slice(-size)
    },
    all: () => kept.slice(-size).map(({ entry }) => entry),
    lines: () =>
      kept
        .slice(-size)
        .map((one) => (one.line ??= `${JSON.stringify(one.entry)}\n`))
        .join(''),
  }
}
