// The system-call filter's bytes under a descriptor and no name, for all boundaries of a backend: they are the same for each.
import { closeSync, openSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownedName } from '../../process/scratch.ts'

export interface FilterFile {
  /** Made at the first call. */
  descriptor(): number
  close(): void
}

/** `place`: where scratch directories lie, which are swept. */
export function openFilterFile(bytes: Uint8Array, place: string): FilterFile {
  let opened: number | undefined
  const make = (): number => {
    const path = join(place, ownedName('filter'))
    writeFileSync(path, bytes, { mode: 0o600 })
    const descriptor = openSync(path, 'r')
    unlinkSync(path)
    return descriptor
  }
  return {
    descriptor: () => (opened ??= make()),
    close() {
      if (opened !== undefined) closeSync(opened)
      opened = undefined
    },
  }
}
