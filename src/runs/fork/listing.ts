// The names in a directory of several layers, each once, in the order of their bytes. Some may turn out to be hidden.
import { opendirSync } from 'node:fs'
import { itself } from '../../paths/descriptor.ts'
import type { DirectoryView } from './merged-view.ts'

export function namesIn({ parts }: DirectoryView): readonly Buffer[] {
  const names = new Map<string, Buffer>()
  for (const { fd } of parts) {
    const listing = opendirSync(itself(fd), { encoding: 'latin1' })
    try {
      for (let entry = listing.readSync(); entry !== null; entry = listing.readSync())
        names.set(entry.name, Buffer.from(entry.name, 'latin1'))
    } finally {
      listing.closeSync()
    }
  }
  return [...names.values()].toSorted((a, b) => Buffer.compare(a, b))
}
