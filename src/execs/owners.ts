// This server among others: it says that it lives, and finds out which others do not. A server on the same machine is looked
// at; of any other it is known only that its heartbeats have stopped, counted on our own clock and never by the time of day.
// One that others believed dead goes on under another name: what they still do to the old one is not done to it.
import type { OwnerRow } from '../contract/owner.ts'
import type { Store } from '../contract/store.ts'
import { parseHolder, formatHolder, isDead, thisHolder, type Holder } from '../paths/holder.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { openSilences } from './silence.ts'

export interface OwnersOptions {
  readonly store: Store
  readonly beatMs?: number
  /** Without a heartbeat for so long a server counts as dead. */
  readonly graceMs?: number
  /**
   * Called with every server that is found dead, and with who we are ourselves. False: something of it is still its own, and is
   * looked at again.
   */
  readonly onDead: (owner: string, self: string) => Promise<boolean>
  /**
   * Others believe us dead under this name: what they have taken is theirs. Called again with every heartbeat, since what was on
   * its way to the store under the old name may come there at any time.
   */
  readonly onOutlived: (former: string, self: string) => Promise<void>
  readonly log: (about: string, error: unknown) => void
  readonly now: () => Date
}

export interface Owners {
  /** Another one, after others have believed us dead. */
  readonly self: string
  close(): Promise<void>
}

export async function openOwners(options: OwnersOptions): Promise<Owners> {
  const { store, beatMs = 5000, graceMs = 30_000 } = options
  const here = thisHolder()
  const silences = openSilences({ graceMs })
  const absences = openSilences({ graceMs })
  const formers: string[] = []

  const enter = async (holder: Holder): Promise<string> => {
    const owner = `srv_${holder.nonce}`
    await store.owners.add({
      owner,
      facts: { holder: formatHolder(holder) },
      created_at: options.now().toISOString(),
    })
    return owner
  }
  let self = await enter(here)

  let isOpen = false
  const look = async (): Promise<void> => {
    // In this order: whoever owns an exec was listed before, and one that has just begun is not taken for one that is gone.
    const owning = await store.execs.owners()
    const listed = await store.owners.list()
    for (const owner of findUnlisted(owning, listed)) await options.onDead(owner, self)
    const others = listed.filter(({ owner }) => owner !== self)
    const silent = silences.look(others)
    const isGone = ({ owner, facts }: OwnerRow): boolean => {
      const other = typeof facts['holder'] === 'string' ? parseHolder(facts['holder']) : undefined
      return other !== undefined && isSameMachine(other, here) ? isDead(other) : silent.has(owner)
    }
    for (const { owner } of others.filter(isGone)) {
      // Only then: as long as it is listed, somebody will care for what it left.
      if (await options.onDead(owner, self)) await store.owners.remove(owner)
    }
  }
  /**
   * They stopped before they could end what was theirs, or their index was made anew. One that was believed dead and lives may still
   * go on with what nobody has taken, and is given the time of one that is silent; when a server begins it has missed that already.
   */
  const findUnlisted = (owning: readonly string[], listed: readonly OwnerRow[]): readonly string[] => {
    const known = new Set([...listed.map(({ owner }) => owner), ...formers, self])
    const unlisted = owning.filter((owner) => !known.has(owner))
    const gone = absences.look(unlisted.map((owner) => ({ owner, beat: 0 })))
    return isOpen ? [...gone] : unlisted
  }
  const beat = async (): Promise<void> => {
    if ((await store.owners.beat(self)) !== undefined) return
    const former = self
    self = await enter(thisHolder())
    formers.push(former)
    options.log('another server believed this one dead, and has what it found of its execs', undefined)
  }
  const care = async (): Promise<void> => {
    for (const former of formers) await options.onOutlived(former, self)
    await look()
  }
  const beatOnce = oneAtATime(beat, (error) => options.log('the heartbeat could not be written', error))
  const careOnce = oneAtATime(care, (error) => options.log('other servers could not be looked at', error))
  let beating: Promise<void> = Promise.resolve()
  // The heart beats while we care for what others left, which may take long.
  const timer = setInterval(() => {
    beating = isOpen ? beatOnce().then(careOnce) : beatOnce()
  }, beatMs)
  timer.unref()
  try {
    await look()
  } catch (error) {
    clearInterval(timer)
    throw error
  }
  isOpen = true
  return {
    get self() {
      return self
    },
    async close() {
      clearInterval(timer)
      await beating
      // The others see that it lives no more.
      await store.owners
        .remove(self)
        .catch((error: unknown) =>
          options.log('this server could not be struck off the list of those that live', error),
        )
    },
  }
}

/** Of one boot and one pid namespace: only there does a pid say anything. */
const isSameMachine = (one: Holder, other: Holder): boolean =>
  one.bootId === other.bootId && one.pidNamespace === other.pidNamespace
