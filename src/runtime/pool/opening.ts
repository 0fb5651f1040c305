// opening.json: who opened a member last, under which token, and what it was then. It is the fence on the member's own side: a lease is
// asked for, and time passes before what it allows is done; whoever comes with a lower token than the one here comes too late. It
// outlives the member where its id may come again, since a late comer must not bring it back. Worth nothing after a power
// cut, and needed by nobody then.
import { randomBytes } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isSandboxId, type SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import type { Description } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import { namesIfThere, readIfThere } from '../../paths/if-there.ts'
import { isAlive, ownIdentity, type ProcessIdentity } from '../../process/identity.ts'
import { fillBlank } from './blanks.ts'
import { memberPlace, membersIn } from './place.ts'

export interface Opening {
  readonly token: number
  /** Where the lease was kept. Tokens of two places cannot be compared; who moves them has stopped every process before. */
  readonly leasesAt: string
  /** Null: nobody has it open. */
  readonly owner: ProcessIdentity | null
  readonly boundaryId: SandboxId
  /** As it was when it was open last, for those who only look. */
  readonly description: Description | null
}

const openingsIn = (state: HostPath): string => join(membersIn(state), '.openings')
const fileOf = (state: HostPath, id: SandboxId): string => join(openingsIn(state), `${id}.json`)

export function readOpening(state: HostPath, id: SandboxId): Opening | undefined {
  const text = readIfThere(fileOf(state, id))
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Opening
  } catch (error) {
    // Cut short by a power cut: whoever wrote it is no more.
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** `blank`: a file that may become this one. */
export function writeOpening(
  state: HostPath,
  id: SandboxId,
  opening: Opening,
  { blank }: { readonly blank?: string | undefined } = {},
): void {
  const [path, text] = [fileOf(state, id), JSON.stringify(opening)]
  if (!existsSync(openingsIn(state))) mkdirSync(openingsIn(state), { recursive: true, mode: 0o700 })
  if (blank !== undefined && fillBlank(blank, text)) return renameSync(blank, path)
  const temporary = `${path}.${randomBytes(8).toString('hex')}`
  writeFileSync(temporary, text, { mode: 0o600 })
  renameSync(temporary, path)
}

export const forgetOpening = (state: HostPath, id: SandboxId): void => rmSync(fileOf(state, id), { force: true })

export interface Fence {
  readonly state: HostPath
  readonly leasesAt: string
}

/** LEASE_LOST if somebody has opened it since under a higher token. */
export function requireNewest(fence: Fence, id: SandboxId, token: number): Opening | undefined {
  const last = readOpening(fence.state, id)
  if (last === undefined || isOlder(fence, last, token)) return last
  throw new GloveboxError('LEASE_LOST', 'Cannot use the sandbox: another process has taken it over', {
    hint: 'Ask for it again.',
  })
}

/** Whoever has lost a member leaves all that is there to the one who has it now. */
export function isNewest(fence: Fence, id: SandboxId, token: number): boolean {
  const last = readOpening(fence.state, id)
  return last === undefined || isOlder(fence, last, token)
}

const isOlder = ({ leasesAt }: Fence, last: Opening, token: number): boolean =>
  last.leasesAt !== leasesAt || last.token <= token

export const isOpenElsewhere = ({ owner }: Opening): boolean =>
  owner !== null && !(owner.pid === process.pid && owner.startTime === ownIdentity().startTime) && isAlive(owner)

export const isOpenSomewhere = (opening: Opening | undefined): boolean =>
  opening !== undefined && opening.owner !== null && isAlive(opening.owner)

export const ownOpening = (
  { leasesAt }: Fence,
  token: number,
  boundaryId: SandboxId,
  description: Description | null,
): Opening => ({
  token,
  leasesAt,
  owner: ownIdentity(),
  boundaryId,
  description,
})

/** Nobody sleeps through a day with a lease in his hand. */
const keptMs = 24 * 60 * 60_000

/** Takes away those of members that have been gone for long. */
export function sweepOpenings(state: HostPath): void {
  for (const name of namesIfThere(openingsIn(state))) {
    const id = name.split('.')[0] ?? ''
    const file = join(openingsIn(state), name)
    const seen = statSync(file, { throwIfNoEntry: false })
    if (!isSandboxId(id) || seen === undefined || Date.now() - seen.mtimeMs < keptMs) continue
    if (lstatSync(memberPlace(state, id), { throwIfNoEntry: false }) === undefined) rmSync(file, { force: true })
  }
}
