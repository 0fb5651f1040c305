// The door to the kernel calls that Node has none for. koffi is optional: who needs it says what happens without it.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { packagePlaces } from './package-places.ts'

export type Koffi = typeof import('koffi')

/** Undefined where it is not installed. Node loads it once, and looking for it takes longer than most of what is then asked of it. */
export const findKoffi = once((): Koffi | undefined => {
  const require = createRequire(import.meta.filename)
  return load(require, nativePart()) ?? load(require, 'koffi')
})

function once<T>(find: () => T): () => T {
  let known: { readonly value: T } | undefined
  return () => (known ??= { value: find() }).value
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
function nativePart(): string | undefined {
  const part = `@koromix/koffi-linux-${process.arch}/linux_${process.arch}/koffi.node`
  return packagePlaces(import.meta.dirname)
    .map((place) => `${place}/${part}`)
    .find((file) => existsSync(file))
}
