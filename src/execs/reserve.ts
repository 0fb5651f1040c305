// Space that is kept back in the workspace, so that the ends of execs can be written on a disk that a guest has filled.
import { randomBytes } from 'node:crypto'
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isFull } from './storage-fault.ts'

/** Room for the records of many execs; their output is bounded, and is there by then. */
const reserveBytes = 1024 * 1024

export interface Reserve {
  /** False if it is in use already. */
  release(): boolean
  /** When there may be room again. */
  renew(): void
}

export function openReserve(root: string): Reserve {
  const path = join(root, '.reserve')
  const isThere = (): boolean => statSync(path, { throwIfNoEntry: false })?.size === reserveBytes
  const renew = (): void => {
    if (isThere()) return
    try {
      // Bytes of chance: a filesystem that compresses would keep nothing back for zeros.
      writeFileSync(path, randomBytes(reserveBytes), { mode: 0o600 })
    } catch (error) {
      if (!isFull(error)) throw error
      rmSync(path, { force: true })
    }
  }
  renew()
  return {
    release() {
      const wasThere = isThere()
      rmSync(path, { force: true })
      return wasThere
    },
    renew,
  }
}
