// Sandboxes that were made ahead, for nobody in particular: directories, walls, limits and a first process are there and wait. Whoever
// asks for a new one that fits takes it, with variables, limits and an id of his own, at the cost of a few system calls.
// Promises that one is claimed once, that a claim holds what the claimant's policy says or fails, and that a spare of a process that died
// is swept. A spare that was claimed is its claimant's to the end and is never given to another. Knows no lease and no record.
import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Backend, Boundary } from '../../contract/backend.ts'
import { newSandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import type { ResolvedPolicy } from '../../contract/policy.ts'
import { isGloveboxError } from '../../errors/error.ts'
import { resolvePolicy } from '../../policy/resolve.ts'
import { openScratch } from '../../process/scratch.ts'
import { discardPlanned, planAgain, planSandbox, type CreateOptions, type Planned } from '../create.ts'
import { makeBlanks } from './blanks.ts'
import { fitSpare, withVariables } from './claim.ts'
import { sparesIn, sweepSpares } from './spare-place.ts'

/** What every spare is made with: the widest that anybody may ask for without saying more. */
export interface SpareKind {
  readonly backend: Backend
  readonly wishes: Wishes
  /** The mounts over its own directory, which it makes. */
  readonly mountsIn: (directory: HostPath) => NonNullable<CreateOptions['mounts']>
}

export type Wishes = Pick<CreateOptions, 'layers' | 'env' | 'vaults' | 'cwd'>

export interface SparesOptions {
  readonly state: HostPath
  /** How many wait. */
  readonly count: number
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
  /** Ends it with its files: the claimant could not take it. */
  giveUp(): Promise<void>
}

export interface Spares {
  /** Undefined: none is there that fits. */
  claim(backend: Backend, wishes: Wishes): Promise<Claimed | undefined>
  readonly ahead: Ahead
  /** Settles when as many wait as should, or one could not be made. */
  filled(): Promise<void>
  close(): Promise<void>
}

interface Spare {
  readonly planned: Planned
  /** What it was made with, in words. */
  readonly asked: string
  readonly boundary: Boundary
}

// Making one costs as much as a cold start. While one claim follows another, the claimants need the machine more.
const quietMs = 50
// What is missing will still be missing at once; and nobody should have to start a server anew when it is there again.
const firstPauseMs = 1000
const longestPauseMs = 60_000
const mostRemembered = 100

export function openSpares({ state, count, kind, onFault = () => {} }: SparesOptions): Spares {
  const closing = new AbortController()
  let ready: Spare[] = []
  let claimedAt = Number.NEGATIVE_INFINITY
  let filling: Promise<void> | undefined
  let failed = 0
  let why: string | null = null
  let pauseMs = firstPauseMs
  let pausing: NodeJS.Timeout | undefined
  const resolve = rememberPolicies()

  const fill = async (): Promise<void> => {
    while (!closing.signal.aborted && ready.length < count) {
      const waitMs = claimedAt + quietMs - performance.now()
      if (waitMs > 0) await delay(waitMs, undefined, { signal: closing.signal }).catch(() => {})
      else await makeOne()
    }
  }
  const makeOne = async (): Promise<void> => {
    const made = await makeSpare(state, await kind())
    why = null
    pauseMs = firstPauseMs
    if (closing.signal.aborted) await endSpare(made)
    else ready.push(made)
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
    if (filling !== undefined || pausing !== undefined || closing.signal.aborted) return
    filling = fill()
      .catch((error: unknown) => {
        if (!closing.signal.aborted) pause(error)
      })
      .finally(() => (filling = undefined))
  }
  sweepSpares(state)
  refill()

  return {
    async claim(backend, wishes) {
      const spare = ready.find(({ planned }) => planned.backend === backend)
      if (spare === undefined) return undefined
      const { planned } = spare
      // Most ask for just what it was made with, and need no plan of their own.
      const again = spare.asked === wordsOf(wishes) ? planned : planAgain(planned, wishes, resolve)
      const fit = fitSpare(planned.plan.spec, again.plan.spec)
      if (fit === undefined) return undefined
      // From here on it is nobody else's, whatever becomes of it.
      ready = ready.filter((other) => other !== spare)
      claimedAt = performance.now()
      refill()
      if (fit.limits !== undefined && !(await narrowed(spare, fit.limits))) {
        await endSpare(spare)
        return undefined
      }
      const boundary = withVariables(spare.boundary, fit.variables)
      const { plan, resolved } = again
      return {
        planned: { ...planned, plan, resolved },
        boundary,
        directory: planned.scratch,
        giveUp: () => endSpare(spare),
      }
    },
    get ahead() {
      return { ready: ready.length, wanted: count, failed, why }
    },
    filled: async () => filling,
    async close() {
      closing.abort()
      clearTimeout(pausing)
      await filling
      await Promise.all(ready.splice(0).map(endSpare))
    },
  }
}

const wordsOf = ({ layers, env, cwd }: Wishes): string => JSON.stringify([layers, env, cwd])

async function makeSpare(state: HostPath, { backend, wishes, mountsIn }: SpareKind): Promise<Spare> {
  const boundaryId = newSandboxId()
  const directory = openScratch(sparesIn(state), boundaryId) as HostPath
  try {
    const member = { id: boundaryId, boundaryId, directory, guard: (boundary: Boundary) => boundary }
    const planned = await planSandbox({ ...wishes, backend, member, mounts: mountsIn(directory) })
    makeBlanks(directory)
    const boundary = await backend.create(boundaryId, planned.plan)
    try {
      await boundary.prepare?.()
    } catch (error) {
      await backend.destroy(boundaryId)
      throw error
    }
    return { planned, boundary, asked: wordsOf(wishes) }
  } catch (error) {
    rmSync(directory, { recursive: true, force: true })
    throw error
  }
}

async function endSpare({ planned }: Spare): Promise<void> {
  await planned.backend.destroy(planned.id)
  await discardPlanned(planned)
  rmSync(planned.scratch, { recursive: true, force: true })
}

/** SECURITY: one that cannot be held to less is ended, and never handed out wider. test/attacks/recycle: "a claim's narrower limits hold from its first command" */
async function narrowed({ boundary }: Spare, limits: Parameters<NonNullable<Boundary['narrow']>>[0]): Promise<boolean> {
  try {
    return (await boundary.narrow?.(limits)) ?? false
  } catch {
    // Half of it may hold; whoever asked gets one that is made for it, and is told there what is wrong.
    return false
  }
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
