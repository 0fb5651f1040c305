// One sandbox that was made for nobody in particular: how it is made, brought to what its claimant wants, and ended. Where a boundary
// costs nothing until its first command comes, one may also be only laid: it has everything but a process. Knows no claimant's id.
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as othersFirst } from 'node:timers/promises'
import type { Backend, Boundary } from '../../contract/backend.ts'
import { newSandboxId } from '../../contract/ids.ts'
import type { HostPath, Mount } from '../../contract/mount.ts'
import { parseGuestPath } from '../../paths/guest.ts'
import { mountTable } from '../../paths/table.ts'
import { removeTreeAtOnce } from '../../paths/remove-tree.ts'
import { resolvePolicy } from '../../policy/resolve.ts'
import type { Vault } from '../../vaults/vaults.ts'
import { openScratch } from '../../process/scratch.ts'
import { discardPlanned, planSandbox, type CreateOptions, type Planned } from '../create.ts'
import { makeBlanks } from './blanks.ts'
import { sparesIn } from './spare-place.ts'

/** What every spare is made with: the widest that anybody may ask for without saying more. */
export interface SpareKind {
  readonly backend: Backend
  readonly wishes: Wishes
  /** The mounts over its own directory, which it makes. */
  readonly mountsIn: (directory: HostPath) => NonNullable<CreateOptions['mounts']>
}

export type Wishes = Pick<CreateOptions, 'layers' | 'env' | 'vaults' | 'cwd'>

/** `ready`: its first process waits. `laid`: it has none yet. */
export type Form = 'ready' | 'laid'

export interface Spare {
  readonly form: Form
  readonly planned: Planned
  readonly wishes: Wishes
  readonly boundary: Boundary
  /** What it saw of the host beyond its own directory when it was made. */
  readonly outside: string
}

const wordsOf = ({ layers, env, vaults, cwd }: Wishes): string => JSON.stringify([layers, env, vaults, cwd])

/** Just what it was made with, which most ask for. */
export const isMadeFor = ({ wishes }: Spare, asked: Wishes): boolean =>
  wishes === asked || wordsOf(wishes) === wordsOf(asked)

/** They are walls: what was not opened with it cannot be given to it. */
export const hasVaults = ({ wishes }: Spare, { vaults = {} }: Wishes): boolean =>
  JSON.stringify(wishes.vaults ?? {}) === JSON.stringify(vaults)

export async function makeSpare(state: HostPath, kind: SpareKind, form: Form, resolve = resolvePolicy): Promise<Spare> {
  const { backend, wishes, mountsIn } = kind
  const boundaryId = newSandboxId()
  const directory = openScratch(sparesIn(state), boundaryId) as HostPath
  let planned: Planned | undefined
  try {
    const member = { id: boundaryId, boundaryId, directory, guard: (boundary: Boundary) => boundary }
    // Nobody waits for it, and others are answered in between.
    await othersFirst()
    const mounts = mountsIn(directory)
    await othersFirst()
    planned = await planSandbox({ ...wishes, backend, member, mounts }, resolve)
    await othersFirst()
    makeBlanks(directory)
    const outside = outsideOf(planned)
    await othersFirst()
    const boundary = await backend.create(boundaryId, planned.plan)
    await othersFirst()
    try {
      if (form === 'ready') await boundary.prepare?.()
    } catch (error) {
      await backend.destroy(boundaryId)
      throw error
    }
    return { form, planned, boundary, wishes, outside }
  } catch (error) {
    // What it could not be made for is what must be told, and not what became of clearing away.
    if (planned !== undefined) await discardPlanned(planned).catch(() => {})
    removeTreeAtOnce(directory)
    throw error
  }
}

export async function endSpare({ planned }: Spare): Promise<void> {
  await planned.backend.destroy(planned.id)
  await discardPlanned(planned)
  removeTreeAtOnce(planned.scratch)
}

/** SECURITY: one that cannot be held to less is ended, and never handed out wider. test/attacks/recycle: "a claim's narrower limits hold from its first command" */
export async function narrowed(
  { boundary }: Spare,
  limits: Parameters<NonNullable<Boundary['narrow']>>[0],
): Promise<boolean> {
  try {
    return (await boundary.narrow?.(limits)) ?? false
  } catch {
    // Half of it may hold; whoever asked gets one that is made for it, and is told there what is wrong.
    return false
  }
}

/**
 * SECURITY: a spare may wait for days. A directory of the operator's that was replaced since, a secret that was added to a vault, a
 * hidden path that has appeared: whoever makes one now would see them, so whoever claims one must too.
 * test/faults/pool-laid: "what the operator has changed since is seen by whoever comes next"
 */
export const isUpToDate = ({ planned, outside }: Spare): boolean => outside === outsideOf(planned)

function outsideOf({ plan, scratch, secrets }: Planned): string {
  const { mounts, policy } = plan.spec
  const isOwn = ({ hostPath }: Mount): boolean => hostPath.startsWith(`${scratch}/`)
  const table = mountTable(mounts)
  const hidden = policy.denyRead.flatMap((text) => {
    const path = parseGuestPath(text)
    const place = table.locate(path)
    if (place === undefined) return [path]
    return isOwn(place.mount) ? [] : [join(place.mount.hostPath, ...place.segments)]
  })
  const paths = [...mounts.filter((mount) => !isOwn(mount)).map(({ hostPath }) => hostPath), ...hidden]
  return JSON.stringify([paths.map(identityAt), secrets.vaults.map(({ name, source }) => [name, namesOf(source)])])
}

/** A directory that has gone has none; whoever makes a sandbox now is told. */
function namesOf(source: Vault['source']): readonly string[] | null {
  try {
    return source.names()
  } catch {
    return null
  }
}

function identityAt(path: string): string {
  const seen = lstatSync(path, { throwIfNoEntry: false })
  return seen === undefined ? '' : `${seen.dev}:${seen.ino}`
}
