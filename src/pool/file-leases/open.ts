// Leases of the processes of one host, as files in a directory that they share. They promise what contract/lease.ts says, and one thing
// more: the lease of a process that has ended is over at once, since on one host that can be known.
import { mkdirSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxId } from '../../contract/ids.ts'
import type { FormerLease, HeldLease, LeaseAnswer, LeaseRow, Leases, LeaseState } from '../../contract/lease.ts'
import type { HostPath } from '../../contract/mount.ts'
import { thisHolder } from '../../paths/holder.ts'
import { inPieces } from '../in-pieces.ts'
import { letGo, readUnsynced, rewriteUnsynced, type Rewriting } from './files.ts'
import { fileOf, formatRecord, idOfFile, parseRecord, standingOf, type LeaseRecord, type Standing } from './record.ts'
import { openTokens } from './tokens.ts'
import { openTurn } from './turn.ts'

export interface FileLeasesOptions {
  /** Of the state home; made where it is not. */
  readonly directory: HostPath
  /** The host's time since boot: the same for every process, and it goes on while the machine sleeps. */
  readonly nowMs: () => number
  readonly ttlMs?: number
}

export const defaultTtlMs = 30_000

interface Found {
  readonly record: LeaseRecord
  readonly standing: Standing
}

export function openFileLeases({ directory, nowMs, ttlMs = defaultTtlMs }: FileLeasesOptions): Leases {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const holder = thisHolder()
  const timeNamespace = timeNamespaceHere()
  const turn = openTurn(directory)
  const tokens = openTokens(directory, holder.bootId)
  const placeOf = (id: SandboxId): string => join(directory, fileOf(id))

  // What this process wrote last of those that it has or had last. Mostly that is what it finds, and knows already.
  const written = new Map<SandboxId, { readonly text: string; readonly record: LeaseRecord }>()
  const recordIn = (id: SandboxId, text: string): LeaseRecord | undefined => {
    const own = written.get(id)
    if (own?.text === text) return own.record
    // Somebody else has had it since.
    written.delete(id)
    return parseRecord(text)
  }
  const readRecord = (id: SandboxId, text: string | undefined): Found | undefined => {
    const record = text === undefined ? undefined : recordIn(id, text)
    return record === undefined
      ? undefined
      : { record, standing: standingOf(record, { holder, nowMs: nowMs(), timeNamespace }) }
  }
  const isOwn = ({ record }: Found): boolean => record.holder.nonce === holder.nonce
  const isHeldAs = (found: Found | undefined, { token }: HeldLease): found is Found =>
    found !== undefined && isOwn(found) && found.record.token === token
  const put = (id: SandboxId, { write }: Rewriting, token: number, state: LeaseState): void => {
    const record = { holder, token, state, endsAtMs: Math.ceil(nowMs() + ttlMs), timeNamespace }
    const text = formatRecord(record)
    write(text)
    written.set(id, { text, record })
  }
  const find = (id: SandboxId): Found | undefined => readRecord(id, readUnsynced(placeOf(id)))
  /** What is found of a lease, and what is made of it. */
  const change = <Value>(id: SandboxId, work: (found: Found | undefined, now: Rewriting) => Value): Value =>
    rewriteUnsynced(placeOf(id), (now) => work(readRecord(id, now.text), now), written.has(id))
  /** Nothing where it is not held any more. */
  const changeHeld = (held: HeldLease, stateAfter: (before: LeaseState) => LeaseState): boolean =>
    change(held.id, (found, now) => {
      if (!isHeldAs(found, held)) return false
      put(held.id, now, held.token, stateAfter(found.record.state))
      return true
    })
  const grant = (id: SandboxId, state: LeaseState, found: Found | undefined, now: Rewriting): LeaseAnswer => {
    const token = tokens.next()
    put(id, now, token, state)
    return { granted: true, token, former: formerOf(found) }
  }
  const formerOf = (found: Found | undefined): FormerLease => {
    if (found === undefined) return { was: 'none' }
    const { token, state } = found.record
    const was = isOwn(found) ? 'own' : found.standing === 'lives' ? 'parked' : found.standing
    return { was, token, state }
  }
  /** None, if it has gone since. */
  const rowOf = (id: SandboxId): readonly LeaseRow[] => {
    const found = find(id)
    if (found === undefined) return []
    const { token, state, holder: of } = found.record
    return [{ id, owner: of.nonce, token, state, isOver: found.standing !== 'lives' }]
  }

  return {
    owner: holder.nonce,
    ttlMs,
    take: (id) =>
      turn.take(() =>
        change(id, (found, now): LeaseAnswer => {
          const isFree = found === undefined || found.standing !== 'lives' || found.record.state === 'warm'
          if (isFree || (isOwn(found) && found.record.state === 'active')) return grant(id, 'active', found, now)
          return { granted: false, state: found.record.state }
        }),
      ),
    condemn: (id, held) =>
      turn.take(() =>
        change(id, (found, now): LeaseAnswer => {
          const isMine = found !== undefined && isOwn(found)
          const mayBe =
            held === undefined
              ? found === undefined || found.standing !== 'lives'
              : isMine && (found.record.token === held.token || found.record.state === 'destroying')
          return mayBe
            ? grant(id, 'destroying', found, now)
            : { granted: false, state: found?.record.state ?? 'destroying' }
        }),
      ),
    park: (held) => turn.take(() => changeHeld(held, () => 'warm')),
    // Not all in one turn: other processes wait meanwhile, and so does this one.
    renew: async (held) => {
      const isRenewed = (one: HeldLease): boolean => changeHeld(one, (state) => state)
      const ours = await inPieces(held, (piece) => turn.take(() => piece.filter(isRenewed)))
      return new Set(ours.map(({ id }) => id))
    },
    drop: (held) =>
      turn.take(() => {
        if (isHeldAs(find(held.id), held)) letGo(placeOf(held.id))
        written.delete(held.id)
      }),
    list: () => {
      const ids = readdirSync(directory).flatMap((name) => idOfFile(name) ?? [])
      return inPieces(ids, (piece) => turn.take(() => piece.flatMap(rowOf)))
    },
    async close() {
      turn.close()
    },
  }
}

/** Time since boot is counted for each time namespace apart. Kernels before 5.6 have but one. */
function timeNamespaceHere(): string {
  try {
    return readlinkSync('/proc/self/ns/time')
  } catch {
    return 'the only one'
  }
}
