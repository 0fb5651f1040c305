// User namespaces that say "this owner on disk is that id in the kernel", one for each owner, kept for further mounts.
import { closeSync } from 'node:fs'
import { makeUserNamespace, type NamespaceMaker } from './user-namespace.ts'

export interface OwnerNamespaces {
  /** A descriptor of the namespace for this owner; kept for further mounts. */
  find(uid: number, gid: number): Promise<number>
  close(): Promise<void>
}

export interface OwnerParts extends NamespaceMaker {
  /** Makes the one for root's files, if somebody else has one. */
  readonly ofRoot?: () => Promise<number>
}

export function ownerNamespaces(parts: OwnerParts): OwnerNamespaces {
  const held = new Map<string, Promise<number>>()
  const make = (uid: number, gid: number): Promise<number> =>
    uid === 0 && gid === 0 && parts.ofRoot !== undefined
      ? parts.ofRoot()
      : makeUserNamespace(parts, { uid: `${uid} ${parts.kernelId} 1\n`, gid: `${gid} ${parts.kernelId} 1\n` })
  return {
    find(uid, gid) {
      const key = `${uid}:${gid}`
      const known = held.get(key)
      if (known !== undefined) return known
      const made = make(uid, gid)
      held.set(key, made)
      // One that could not be made is made for the next who asks; kept, it would refuse every sandbox from then on.
      made.catch(() => held.delete(key))
      return made
    },
    async close() {
      for (const made of await Promise.allSettled(held.values())) if (made.status === 'fulfilled') closeSync(made.value)
      held.clear()
    },
  }
}
