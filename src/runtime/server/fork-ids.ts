// The ids of all sandboxes that one request makes, from the one that its key is bound to.
import { createHash } from 'node:crypto'
import type { SandboxId } from '../../contract/ids.ts'

/** The seed is kept in the store and never shown: of an id that is known no other can be told. */
export const forkIds = (seed: string, count: number): readonly SandboxId[] =>
  Array.from(
    { length: count },
    (_, index): SandboxId => `sbx_${createHash('sha256').update(`${seed} ${index}`).digest('hex').slice(0, 32)}`,
  )
