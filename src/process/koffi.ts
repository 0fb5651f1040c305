// The door to the kernel calls that Node has none for. koffi is optional: who needs it says what happens without it.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

export type Koffi = typeof import('koffi')

/** Undefined where it is not installed. */
export function findKoffi(): Koffi | undefined {
  const require = createRequire(import.meta.url)
  return load(require, nativePart(require)) ?? load(require, 'koffi')
}

function load(require: NodeJS.Require, name: string | undefined): Koffi | undefined {
  try {
    return name === undefined ? undefined : (require(name) as Koffi)
  } catch {
    // Not installed, or built for another C library: the next way knows better.
    return undefined
  }
}

/** koffi's own loader looks for its native part in many places, which takes a short command longer than everything that is
 * then done with it. Where it lies as npm lays it, it is loaded as it is. */
function nativePart(require: NodeJS.Require): string | undefined {
  const part = join('@koromix', `koffi-linux-${process.arch}`, `linux_${process.arch}`, 'koffi.node')
  return (require.resolve.paths('koffi') ?? []).map((place) => join(place, part)).find((file) => existsSync(file))
}
