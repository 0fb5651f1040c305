// One lease as a file. Its time is the host's since boot, so it means nothing in another boot or another time namespace; who holds it is
// told so exactly (boot, pid, start time) that the death of the holder is seen at once.
import type { SandboxId } from '../../contract/ids.ts'
import { leaseStates, type LeaseState } from '../../contract/lease.ts'
import { formatHolder, isDead, parseHolder, type Holder } from '../../paths/holder.ts'

export interface LeaseRecord {
  readonly holder: Holder
  readonly token: number
  readonly state: LeaseState
  readonly endsAtMs: number
  readonly timeNamespace: string
}

const suffix = '.lease'

export const fileOf = (id: SandboxId): string => `${id}${suffix}`

export const idOfFile = (name: string): SandboxId | undefined =>
  /^sbx_[0-9a-z]{8,64}\.lease$/.test(name) ? (name.slice(0, -suffix.length) as SandboxId) : undefined

export const formatRecord = (record: LeaseRecord): string =>
  `${record.token}\n${record.state}\n${record.endsAtMs}\n${record.timeNamespace}\n${formatHolder(record.holder)}`

/** Undefined: cut short by a power cut, and so of a holder that is dead. */
export function parseRecord(text: string): LeaseRecord | undefined {
  const [token = '', state = '', endsAt = '', timeNamespace = '', ...rest] = text.split('\n')
  const holder = parseHolder(rest.join('\n'))
  const known = leaseStates.find((one) => one === state)
  if (!/^\d+$/.test(token) || known === undefined || !/^\d+$/.test(endsAt) || holder === undefined) return undefined
  return { token: Number(token), state: known, endsAtMs: Number(endsAt), timeNamespace, holder }
}

export type Standing = 'lives' | 'expired' | 'dead'

export interface Here {
  readonly holder: Holder
  readonly nowMs: number
  readonly timeNamespace: string
}

export function standingOf(record: LeaseRecord, here: Here): Standing {
  // Whoever asks lives.
  if (record.holder.nonce !== here.holder.nonce && isDead(record.holder)) return 'dead'
  // A time that was counted elsewhere cannot be compared: what cannot be known counts as alive.
  return record.timeNamespace === here.timeNamespace && record.endsAtMs <= here.nowMs ? 'expired' : 'lives'
}
