// This server among others: it says that it lives, and finds out which others do not. A server on the same machine is looked
// at; of any other it is known only that its heartbeats have stopped, counted on our own clock and never by the time of day.
import { performance } from 'node:perf_hooks'
import type { OwnerRow, Store } from '../contract/store.ts'
import { parseHolder, formatHolder, isDead, thisHolder, type Holder } from '../paths/holder.ts'

export interface OwnersOptions {
  readonly store: Store
  readonly beatMs?: number
  /** Without a heartbeat for so long a server counts as dead. */
  readonly graceMs?: number
  /** Called with every server that is found dead, and with who we are ourselves. */
  readonly onDead: (owner: string, self: string) => Promise<void>
  /** Others believe us dead: what we own is theirs. */
  readonly onOutlived: () => void
  readonly log: (about: string, error: unknown) => void
  readonly now: () => Date
}

export interface Owners {
  readonly self: string
  isAlive(owner: string): boolean
  close(): Promise<void>
}

export async function openOwners(options: OwnersOptions): Promise<Owners> {
  const { store, beatMs = 5000, graceMs = 30_000 } = options
  const holder = thisHolder()
  const self = `srv_${holder.nonce}`
  await store.owners.add({
    owner: self,
    facts: { holder: formatHolder(holder) },
    created_at: options.now().toISOString(),
  })
  const seen = new Map<string, { beat: number; at: number }>()
  let alive: ReadonlySet<string> = new Set([self])

  const isGone = ({ owner, beat, facts }: OwnerRow): boolean => {
    const other = typeof facts['holder'] === 'string' ? parseHolder(facts['holder']) : undefined
    if (other !== undefined && isSameMachine(other, holder)) return isDead(other)
    const before = seen.get(owner)
    if (before === undefined || before.beat !== beat) seen.set(owner, { beat, at: performance.now() })
    return before !== undefined && before.beat === beat && performance.now() - before.at > graceMs
  }
  const look = async (): Promise<void> => {
    const others = (await store.owners.list()).filter(({ owner }) => owner !== self)
    const dead = others.filter(isGone)
    alive = new Set([self, ...others.filter((each) => !dead.includes(each)).map(({ owner }) => owner)])
    for (const { owner } of dead) {
      await options.onDead(owner, self)
      // Only now: as long as it is listed, somebody will care for what it left.
      await store.owners.remove(owner)
      seen.delete(owner)
    }
  }
  const beat = async (): Promise<void> => {
    if ((await store.owners.beat(self)) === undefined) options.onOutlived()
    await look()
  }
  await look()
  let beating: Promise<void> = Promise.resolve()
  let isBusy = false
  const timer = setInterval(() => {
    if (isBusy) return
    isBusy = true
    beating = beat()
      .catch((error: unknown) => options.log('the heartbeat could not be written', error))
      .finally(() => (isBusy = false))
  }, beatMs)
  timer.unref()
  return {
    self,
    isAlive: (owner) => alive.has(owner),
    async close() {
      clearInterval(timer)
      await beating
      await store.owners.remove(self)
    },
  }
}

/** Of one boot and one pid namespace: only there does a pid say anything. */
const isSameMachine = (one: Holder, other: Holder): boolean =>
  one.bootId === other.bootId && one.pidNamespace === other.pidNamespace
