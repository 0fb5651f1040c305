// Sandboxes that were made ahead, for nobody in particular: directories, walls, limits and, if they are ready, a first process are there
// and wait. Whoever asks for a new one that fits takes it, with variables, limits and an id of his own, at the cost of a few system calls.
// Promises that one is claimed once, that a claim holds what the claimant's policy says or fails, and that a spare of a process that died
// is swept. A spare that was claimed is its claimant's to the end and is never given to another. Knows no lease and no record.
import type { Backend, Boundary } from '../../contract/backend.ts'
import type { HostPath } from '../../contract/mount.ts'
import type { ResolvedPolicy } from '../../contract/policy.ts'
import { isGloveboxError } from '../../errors/error.ts'
import { resolvePolicy } from '../../policy/resolve.ts'
import { planAgain, type Planned } from '../create.ts'
import { fitSpare, withVariables, type SpareFit } from './claim.ts'
import {
  endSpare,
  hasVaults,
  isMadeFor,
  isUpToDate,
  makeSpare,
  narrowed,
  type Form,
  type Spare,
  type SpareKind,
  type Wishes,
} from './spare.ts'
import { sweepSpares } from './spare-place.ts'

export interface SparesOptions {
  readonly state: HostPath
  /** How many wait with a process. */
  readonly count: number
  /** How many more wait without one, where that costs nothing, from the first claim on: who asks for one soon asks for another. */
  readonly laid?: number | undefined
  readonly kind: () => Promise<SpareKind>
  /** Told of what could not be made ahead; whoever asks next is told by the making itself. */
  readonly onFault?: ((error: unknown) => void) | undefined
}

/** How it stands with what is made ahead. */
export interface Ahead {
  readonly ready: number
  readonly wanted: number
  /** How often one could not be made, since the start. */
  readonly failed: number
  /** Why, if the last one could not be made. Null while all goes well. */
  readonly why: string | null
}

export interface Claimed {
  /** Its plan and policy are the claimant's; its id is the boundary's. */
  readonly planned: Planned
  readonly boundary: Boundary
  /** Holds its files; the claimant's from now on. */
  readonly directory: HostPath
  /** Settles when its first process stands, or could not be started; its use need not wait for that. Never rejects. */
  readonly settled: Promise<void>
  /** Ends it with its files: the claimant could not take it. */
  giveUp(): Promise<void>
}

export interface Haste {
  /** Its first command may be long in coming: no process is started for that, and those that have one are left to others. */
  readonly isUnhurried?: boolean | undefined
}

export interface Spares {
  /** Somebody is about to claim one. If it has no process yet, that is started meanwhile; it ends again if nobody comes. */
  expect(): void
  /** Undefined: none is there that fits. */
  claim(backend: Backend, wishes: Wishes, haste?: Haste): Promise<Claimed | undefined>
  readonly ahead: Ahead
  /** Settles when as many wait as should, laid ones too, or one could not be made. */
  filled(): Promise<void>
  close(): Promise<void>
}

// Making one costs as much as a cold start. While one claim follows another, the claimants need the machine more.
const quietMs = 50
// What is missing will still be missing at once; and nobody should have to start a server anew when it is there again.
const firstPauseMs = 1000
const longestPauseMs = 60_000
const mostRemembered = 100

export function openSpares({ state, count, laid = 0, kind, onFault = () => {} }: SparesOptions): Spares {
  let isClosing = false
  let wake = (): void => {}
  let waiting: Spare[] = []
  let isAsked = false
  let claimedAt = Number.NEGATIVE_INFINITY
  let isWanted = false
  let filling: Promise<void> | undefined
  let failed = 0
  let why: string | null = null
  let pauseMs = firstPauseMs
  let pausing: NodeJS.Timeout | undefined
  const ending = new Set<Promise<void>>()
  const expected = new WeakMap<Spare, Promise<void>>()
  const resolve = rememberPolicies()
  const numberOf = (form: Form): number => waiting.filter((spare) => spare.form === form).length

  /** What to make next. Undefined: nothing is missing. */
  const missing = async (): Promise<{ readonly kind: SpareKind; readonly form: Form } | undefined> => {
    const isReadyMissing = numberOf('ready') < count
    if (!isReadyMissing && !(isAsked && numberOf('laid') < laid)) return undefined
    const wanted = await kind()
    if (isReadyMissing) return { kind: wanted, form: 'ready' }
    return wanted.backend.createsAtRest === true ? { kind: wanted, form: 'laid' } : undefined
  }
  const fill = async (): Promise<void> => {
    while (!isClosing) {
      const waitMs = claimedAt + quietMs - performance.now()
      if (waitMs > 0) await rest(waitMs)
      else {
        isWanted = false
        const next = await missing()
        if (next === undefined) return
        await makeOne(next.kind, next.form)
      }
    }
  }
  const rest = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const makeOne = async (wanted: SpareKind, form: Form): Promise<void> => {
    const made = await makeSpare(state, wanted, form, resolve)
    why = null
    pauseMs = firstPauseMs
    if (isClosing) await endSpare(made)
    else waiting.push(made)
  }
  const pause = (error: unknown): void => {
    failed += 1
    // SECURITY: whoever may look at the pool reads this, and what is not ours to tell may name the host's directories.
    // src/runtime/pool/spares.test: "of a fault that is not ours only that it was one is told"
    why = isGloveboxError(error) ? error.message : 'Cannot make a sandbox ahead: something went wrong'
    pausing = setTimeout(() => {
      pausing = undefined
      refill()
    }, pauseMs).unref()
    pauseMs = Math.min(2 * pauseMs, longestPauseMs)
    onFault(error)
  }
  const refill = (): void => {
    if (pausing !== undefined || isClosing) return
    // One that is about to end may have looked before this one was taken.
    isWanted = true
    filling ??= fill()
      .catch((error: unknown) => {
        if (!isClosing) pause(error)
      })
      .finally(() => {
        filling = undefined
        if (isWanted) refill()
      })
  }
  const drop = (spare: Spare): void => void (waiting = waiting.filter((other) => other !== spare))
  const inOrder = (isUnhurried: boolean): readonly Spare[] => {
    const ready = waiting.filter(({ form }) => form === 'ready')
    const withoutProcess = waiting.filter(({ form }) => form === 'laid')
    return isUnhurried ? [...withoutProcess, ...ready] : [...ready, ...withoutProcess]
  }
  /** What the host has changed behind is ended, and another is made for it. */
  const find = (backend: Backend, isUnhurried: boolean): Spare | undefined => {
    for (const spare of inOrder(isUnhurried).filter(({ planned }) => planned.backend === backend)) {
      if (isUpToDate(spare)) return spare
      drop(spare)
      const end = endSpare(spare).catch(onFault)
      ending.add(end)
      void end.then(() => ending.delete(end))
    }
    return undefined
  }
  sweepSpares(state)
  refill()

  return {
    expect() {
      const [next] = inOrder(false)
      if (next?.form === 'laid') expected.set(next, startSoon(next.boundary))
    },
    async claim(backend, wishes, { isUnhurried = false } = {}) {
      isAsked = true
      claimedAt = performance.now()
      const spare = find(backend, isUnhurried)
      refill()
      if (spare === undefined) return undefined
      const { planned } = spare
      // Who asks for just what it was made with needs no plan of his own.
      const isSame = isMadeFor(spare, wishes)
      if (!isSame && !hasVaults(spare, wishes)) return undefined
      const again = isSame ? planned : planAgain(planned, wishes, resolve)
      const fit = isSame ? asItIs : fitSpare(planned.plan.spec, again.plan.spec)
      if (fit === undefined) return undefined
      // From here on it is nobody else's, whatever becomes of it.
      drop(spare)
      refill()
      return await handOver(spare, fit, { ...again, isUnhurried, expected: expected.get(spare) })
    },
    get ahead() {
      return { ready: numberOf('ready'), wanted: count, failed, why }
    },
    async filled() {
      while (filling !== undefined) await filling
    },
    async close() {
      isClosing = true
      wake()
      clearTimeout(pausing)
      await filling
      await Promise.all([...ending, ...waiting.splice(0).map(endSpare)])
    },
  }
}

const asItIs: SpareFit = { variables: {} }

interface Handed extends Pick<Planned, 'plan' | 'resolved'> {
  readonly isUnhurried: boolean
  /** Its process is under way already. */
  readonly expected: Promise<void> | undefined
}

async function handOver(
  spare: Spare,
  { limits, variables }: SpareFit,
  { plan, resolved, expected, isUnhurried }: Handed,
): Promise<Claimed | undefined> {
  const { planned } = spare
  if (limits !== undefined && !(await narrowed(spare, limits))) {
    await endSpare(spare)
    return undefined
  }
  return {
    planned: { ...planned, plan, resolved },
    boundary: withVariables(spare.boundary, variables),
    directory: planned.scratch,
    settled: spare.form === 'ready' || isUnhurried ? Promise.resolve() : startUnless(expected, spare.boundary),
    giveUp: () => endSpare(spare),
  }
}

/** What was begun for a claimant who did not come may have ended since; what is still under way is not begun twice. */
const startUnless = async (expected: Promise<void> | undefined, boundary: Boundary): Promise<void> => {
  const now = startSoon(boundary)
  await expected
  await now
}

/** Its claimant has a command for it: its first process starts while his files are written and the answer is on its way. */
const startSoon = async (boundary: Boundary): Promise<void> => {
  // What does not start is told to the command that needs it.
  await boundary.prepare?.({ briefly: true }).catch(() => {})
}

/** Most claims ask for what others have asked for, under the same operator. */
function rememberPolicies(): typeof resolvePolicy {
  const known = new Map<string, ResolvedPolicy>()
  return (layers) => {
    const asked = JSON.stringify(layers)
    const found = known.get(asked) ?? resolvePolicy(layers)
    if (known.size >= mostRemembered) known.clear()
    known.set(asked, found)
    return found
  }
}
