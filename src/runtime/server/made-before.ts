// Sandboxes that an earlier sending of a request made and that nobody was told of, since its server was killed or failed before the
// answer. They are found by the ids that were bound to its key. They are there already, so that no quota stands against them.
import { isSandboxId, type SandboxId } from '../../contract/ids.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { RealPool } from '../pool/open.ts'
import type { MemberRecord } from '../pool/record.ts'

export interface MadeBefore {
  /** Opened, as one is that was just made. Undefined: there is none, or it has ended since. */
  find(id: string | undefined): Promise<MemberRecord | undefined>
  /** All of them, or undefined where there is none. CONFLICT where there are some: all were to begin with the same files, and somebody may
   * use those that are there. */
  findAll(ids: readonly SandboxId[]): Promise<readonly MemberRecord[] | undefined>
}

export function openMadeBefore({ members, lifetimes }: Pick<RealPool, 'members' | 'lifetimes'>): MadeBefore {
  const find: MadeBefore['find'] = async (id) => {
    const known = checkedId(id)
    const record = known === undefined ? undefined : members.read(known)
    if (known === undefined || record === undefined || members.hasEnded(record)) return undefined
    return (await lifetimes.live(known)).record
  }
  return {
    find,
    async findAll(ids) {
      const there = ids.filter((id) => members.read(id) !== undefined)
      if (there.length === 0) return undefined
      const found = await Promise.all(ids.map(find))
      const standing = found.filter((record) => record !== undefined)
      if (standing.length < ids.length) throw incomplete(standing.length, ids.length)
      return standing
    },
  }
}

const incomplete = (there: number, asked: number): GloveboxError =>
  new GloveboxError('CONFLICT', `Cannot answer for the forks: they were cut off, and ${there} of ${asked} are there`, {
    hint: 'Look for them among the sandboxes, delete what is not wanted, and ask again under a new Idempotency-Key.',
    facts: { there, asked },
  })

/** Ids come back from the store as text. */
export function checkedId(id: string | undefined): SandboxId | undefined {
  if (id === undefined || isSandboxId(id)) return id
  throw new GloveboxError('RECORD_DAMAGED', 'Cannot make the sandbox: what its Idempotency-Key is bound to is no id', {
    hint: 'Use a new key.',
  })
}
