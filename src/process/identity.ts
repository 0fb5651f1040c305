// Who a process is, in a way that outlives it: a pid alone is reused, so the start time and the boot are part of it.
// Promises that a process which may still be alive is never called dead. Knows nothing of what is owned.
import { readFileSync, readlinkSync } from 'node:fs'

export interface ProcessIdentity {
  readonly pid: number
  /** Clock ticks from boot to the start of the process, as /proc tells it. */
  readonly startTime: string
  readonly bootId: string
  /** Pids mean nothing outside the namespace in which they were given. */
  readonly pidNamespace: string
}

export interface IdentityHost {
  /** Where the process file system is mounted. */
  readonly proc: string
  /** Does the kernel know a process of this pid, whether or not we may signal it? */
  exists(pid: number): boolean
}

const thisHost: IdentityHost = { proc: '/proc', exists: pidExists }

export const ownIdentity = (host: IdentityHost = thisHost): ProcessIdentity =>
  host === thisHost ? ownSelf() : selfOn(host)

function selfOn(host: IdentityHost): ProcessIdentity {
  const stat = parseStat(readFileSync(`${host.proc}/self/stat`, 'utf8'))
  return { pid: stat.pid, startTime: stat.startTime, bootId: bootIdOf(host), pidNamespace: pidNamespaceOf(host) }
}

/** Of a process of ours that has just been started. */
export function identityOf(pid: number, host: IdentityHost = thisHost): ProcessIdentity {
  const stat = parseStat(readFileSync(`${host.proc}/${pid}/stat`, 'utf8'))
  return { pid, startTime: stat.startTime, bootId: bootIdOf(host), pidNamespace: pidNamespaceOf(host) }
}

export function isAlive(identity: ProcessIdentity, host: IdentityHost = thisHost): boolean {
  if (identity.bootId !== bootIdOf(host)) return false
  // A process of another container cannot be seen from here: nobody may tidy up behind its back.
  if (identity.pidNamespace !== pidNamespaceOf(host)) return true
  const stat = findStat(identity.pid, host)
  // With hidepid the files of another user's process are invisible although it lives.
  if (stat === undefined) return host.exists(identity.pid)
  return stat.startTime === identity.startTime && !endedStates.has(stat.state)
}

/** Zombie and dead: the process has given back everything that it held. */
const endedStates: ReadonlySet<string> = new Set(['Z', 'X', 'x'])

interface ProcStat {
  readonly pid: number
  readonly state: string
  readonly startTime: string
}

/** The second field is the program's name in parentheses and may itself hold blanks and parentheses. */
export function parseStat(text: string): ProcStat {
  const afterName = text.lastIndexOf(')')
  const fields = text
    .slice(afterName + 2)
    .trim()
    .split(' ')
  const [state, startTime] = [fields[0], fields[19]]
  const pid = Number.parseInt(text, 10)
  if (afterName < 0 || state === undefined || startTime === undefined || !Number.isInteger(pid)) {
    throw new TypeError('The process file system gave a stat line of an unknown form.')
  }
  return { pid, state, startTime }
}

function findStat(pid: number, host: IdentityHost): ProcStat | undefined {
  let text: string
  try {
    text = readFileSync(`${host.proc}/${pid}/stat`, 'utf8')
  } catch (error) {
    if (isCode(error, 'ENOENT') || isCode(error, 'ESRCH')) return undefined
    throw error
  }
  return parseStat(text)
}

const bootIdOf = (host: IdentityHost): string => (host === thisHost ? ownPlace() : placeOn(host)).bootId
const pidNamespaceOf = (host: IdentityHost): string => (host === thisHost ? ownPlace() : placeOn(host)).pidNamespace

interface Place {
  readonly bootId: string
  readonly pidNamespace: string
}

const placeOn = ({ proc }: IdentityHost): Place => ({
  bootId: readFileSync(`${proc}/sys/kernel/random/boot_id`, 'utf8').trim(),
  pidNamespace: readlinkSync(`${proc}/self/ns/pid`),
})

/** A process never leaves its boot nor its pid namespace, and begins once; so all are asked once. */
const ownPlace = once(() => placeOn(thisHost))
const ownSelf = once(() => selfOn(thisHost))

function once<T>(ask: () => T): () => T {
  let known: { readonly value: T } | undefined
  return () => {
    known ??= { value: ask() }
    return known.value
  }
}

function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !isCode(error, 'ESRCH')
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
