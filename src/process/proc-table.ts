// The kernel's table of processes, as far as it is needed to find what a command left behind.
import { readdirSync, readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'

export interface ProcessRow {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  /** Clock ticks since boot. With the pid it names a process for good. */
  readonly startTime: number
  /** Its environment holds the marker. */
  readonly marked: boolean
}

interface Stat extends Omit<ProcessRow, 'marked'> {
  /** Has ended, but its parent has not asked how. It runs nothing, and init may never collect it. */
  readonly zombie: boolean
}

/** Living processes that began at `notBefore` or later. Empty where there is no /proc. */
export async function listProcesses(options: { notBefore: number; marker: string }): Promise<ProcessRow[]> {
  const rows: ProcessRow[] = []
  let looked = 0
  for (const pid of processIds()) {
    const stat = readStat(pid)
    if (stat !== undefined && !stat.zombie && stat.startTime >= options.notBefore) {
      const { zombie: _, ...row } = stat
      rows.push({ ...row, marked: isMarked(pid, options.marker) })
    }
    looked += 1
    // A host may have thousands: others get their turn in between.
    if (looked % 200 === 0) await setImmediate()
  }
  return rows
}

/** Also of a zombie; undefined where there is no such process, or no /proc. */
export const startTimeOf = (pid: number): number | undefined => readStat(pid)?.startTime

function processIds(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

function readStat(pid: number): Stat | undefined {
  const text = readText(`/proc/${pid}/stat`)
  return text === undefined ? undefined : parseStat(pid, text)
}

/** The second field is the program's name in parentheses and may itself hold spaces and parentheses. */
export function parseStat(pid: number, text: string): Stat | undefined {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const state = fields[0]
  if (state === undefined || fields.length < 20) return undefined
  const [parent, group, session] = [Number(fields[1]), Number(fields[2]), Number(fields[3])]
  return { pid, parent, group, session, startTime: Number(fields[19]), zombie: state === 'Z' || state === 'X' }
}

function isMarked(pid: number, marker: string): boolean {
  return `\0${readText(`/proc/${pid}/environ`) ?? ''}`.includes(`\0${marker}\0`)
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}
