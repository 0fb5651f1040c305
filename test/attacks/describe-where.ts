// In place of `runIf` and `skipIf`, which say nothing: what cannot run here is a visible skip with its reason.
import { describe } from 'vitest'

type Describe = (title: string, tests: () => void) => void

export const describeWhere =
  (isSo: boolean, otherwise: string): Describe =>
  (title, tests) => {
    describe.skipIf(!isSo)(isSo ? title : `${title} [${otherwise}]`, () => {
      tests()
    })
  }

export const isRoot = process.getuid?.() === 0

/** Nobody but root can become somebody else, or give a file to another user. */
export const describeAsRoot = describeWhere(isRoot, 'only root can make what it needs')
