// Who holds a lock, told so exactly that a dead holder is never taken for a living one: a pid is given
// out again, a pid with its start time and the boot it belongs to is not.
import { randomBytes } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { isErrno } from './refusal.ts'

export interface Holder {
  /** Unique to one holder for all time. */
  readonly nonce: string
  readonly pid: number
  /** In clock ticks since boot. */
  readonly startTime: string
  readonly bootId: string
  readonly pidNamespace: string
}

export function thisHolder(): Holder {
  return {
    nonce: randomBytes(16).toString('hex'),
    pid: process.pid,
    startTime: processState(process.pid)?.startTime ?? 'unknown',
    bootId: bootId(),
    pidNamespace: pidNamespace(),
  }
}

export function parseHolder(text: string): Holder | undefined {
  const [nonce, pid, startTime, boot, namespace, end] = text.split('\n')
  if (!nonce || !startTime || !boot || !namespace || end !== '' || !/^[1-9]\d*$/.test(pid ?? '')) return undefined
  return { nonce, pid: Number(pid), startTime, bootId: boot, pidNamespace: namespace }
}

export const formatHolder = (holder: Holder): string =>
  `${holder.nonce}\n${holder.pid}\n${holder.startTime}\n${holder.bootId}\n${holder.pidNamespace}\n`

/** True only when it is certain, for a lock that only this host has ever held. What cannot be known counts as alive. */
export function isDead(holder: Holder): boolean {
  if (holder.bootId !== bootId()) return true
  // A number from another pid namespace says nothing here.
  if (holder.pidNamespace !== pidNamespace()) return false
  if (!exists(holder.pid)) return true
  const state = processState(holder.pid)
  // Hidden by the mount options of /proc, or gone in between: not certain.
  if (state === undefined) return false
  return state.startTime !== holder.startTime || state.letter === 'Z' || state.letter === 'X'
}

/** Does the kernel know a process of this pid, whether or not we may signal it? */
export function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !isErrno(error, 'ESRCH')
  }
}

function processState(pid: number): { readonly letter: string; readonly startTime: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name in parentheses and may itself hold both spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [letter, startTime] = [fields[0], fields[19]]
    return letter === undefined || startTime === undefined ? undefined : { letter, startTime }
  } catch (error) {
    if (isErrno(error)) return undefined
    throw error
  }
}

const bootId = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
const pidNamespace = (): string => readlinkSync('/proc/self/ns/pid')
