// The layers under a workspace, read as one tree. They do not change while a run stands on them.
import { closeSync, type BigIntStats } from 'node:fs'
import { statsOf } from '../../paths/descriptor.ts'
import { namesIn } from '../fork/listing.ts'
import { openView, type DirectoryView, type Found } from '../fork/merged-view.ts'
import type { Breath } from './breath.ts'
import { findingOf, type FindingOptions } from './facts.ts'
import { nameOf, type Facts } from './tree.ts'

export interface LayerOptions extends FindingOptions {
  readonly breath: Breath
  /** Told why a content is missing. */
  readonly onStop: (stop: 'bytes' | 'unreadable' | 'concurrent') => void
}

/** An entry, with the view of the directory it was found in. Both live until `use` settles. */
type Use<Result> = (found: Found, view: DirectoryView) => Promise<Result>

/** `way`: names below the top, one character for each byte. Undefined when nothing is there. */
export async function withEntry<Result>(
  layers: readonly string[],
  way: readonly string[],
  use: Use<Result>,
): Promise<Result | undefined> {
  const views = [openView(layers)]
  const founds: Found[] = []
  try {
    for (const [index, key] of way.entries()) {
      const view = views.at(-1)
      const found = view?.find(nameOf(key))
      if (view === undefined || found === undefined) return undefined
      founds.push(found)
      if (index === way.length - 1) return await use(found, view)
      if (!found.stats.isDirectory()) return undefined
      views.push(view.enter(found))
    }
    return undefined
  } finally {
    for (const view of views.toReversed()) view.close()
    for (const { fd } of founds) closeSync(fd)
  }
}

export async function factsIn(found: Found, options: LayerOptions): Promise<Facts> {
  const { facts, stop } = await findingOf(found, options)
  if (stop === 'bytes' || stop === 'unreadable' || stop === 'concurrent') options.onStop(stop)
  return facts
}

/** Everything below a directory, each path as names joined by `/`. */
export async function* below(
  found: Found,
  view: DirectoryView,
  prefix: string,
): AsyncGenerator<readonly [path: string, found: Found]> {
  if (!found.stats.isDirectory()) return
  const inner = view.enter(found)
  try {
    for (const name of namesIn(inner)) {
      const next = inner.find(name)
      if (next === undefined) continue
      try {
        const path = `${prefix}/${name.toString('latin1')}`
        yield [path, next]
        yield* below(next, inner, path)
      } finally {
        closeSync(next.fd)
      }
    }
  } finally {
    inner.close()
  }
}

/** How a directory of several layers is put together: of the upper alone, merged with what has its name, or from elsewhere. */
export function partsOf(found: Found, view: DirectoryView): { readonly under: BigIntStats | undefined } {
  const inner = view.enter(found)
  try {
    const second = inner.parts[1]
    return { under: second === undefined ? undefined : statsOf(second.fd) }
  } finally {
    inner.close()
  }
}
