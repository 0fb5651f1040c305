// What overlayfs would show of several layers, seen without a mount: by descriptor, nearest layer first. A whiteout hides what
// lies below it, an opaque directory ends the search, and a renamed one leads it elsewhere. A tree of one layer is shown as it
// is. It promises to read nothing but the layers, to follow no link, and to refuse rather than to guess where the marks of
// overlayfs cannot be read. It must not know what the layers belong to.
import { closeSync, type BigIntStats } from 'node:fs'
import { GloveboxError } from '../../errors/error.ts'
import { findInside, itself, openRoot, type Name, type Opened } from '../../paths/descriptor.ts'
import { openAttributes, type Attributes } from '../../process/attributes.ts'

/** One layer's directory of those that are seen as one. */
interface Part {
  readonly fd: number
  /** Which layer it is in. */
  readonly layer: number
}

export interface Found extends Opened {
  /** The directory in which it was found, open as long as the view is. */
  readonly within: number
  /** Its name there, which a rename may have made another one. */
  readonly name: Name
  readonly index: number
}

export interface DirectoryView {
  /** To be listed, one after the other; the same name may come twice, and `find` tells what is hidden. */
  readonly parts: readonly Part[]
  /** The caller closes it. */
  find(name: Name): Found | undefined
  /** What is below a directory that was found. It lives no longer than the descriptor of what was found. */
  enter(found: Found): DirectoryView
  close(): void
}

/** Host paths, nearest first. */
export function openView(layers: readonly string[]): DirectoryView {
  const roots: number[] = []
  try {
    for (const layer of layers) roots.push(openRoot(layer).fd)
  } catch (error) {
    for (const fd of roots) closeSync(fd)
    throw error
  }
  const parts = roots.map((fd, layer) => ({ fd, layer }))
  return layers.length === 1 ? plainView(parts) : new LayeredView(new Layers(roots), parts, roots)
}

const plainView = (parts: readonly Part[]): DirectoryView => ({
  parts,
  find(name) {
    const within = parts[0]?.fd ?? -1
    const found = findInside(within, name)
    return found && { ...found, within, name, index: 0 }
  },
  enter: ({ fd }) => ({ ...plainView([{ fd, layer: 0 }]), close: () => {} }),
  close: () => parts.forEach(({ fd }) => closeSync(fd)),
})

class LayeredView implements DirectoryView {
  readonly #layers: Layers
  readonly #owned: readonly number[]
  readonly parts: readonly Part[]

  constructor(layers: Layers, parts: readonly Part[], owned: readonly number[]) {
    this.#layers = layers
    this.parts = parts
    this.#owned = owned
  }

  find(name: Name): Found | undefined {
    for (const [index, part] of this.parts.entries()) {
      const found = findInside(part.fd, name)
      if (found === undefined) continue
      if (!isWhiteout(found.stats)) return { ...found, within: part.fd, name, index }
      closeSync(found.fd)
      return undefined
    }
    return undefined
  }

  enter(found: Found): DirectoryView {
    const first = this.parts[found.index]
    if (first === undefined) throw new GloveboxError('INTERNAL', 'Cannot enter a directory that was not found here')
    const parts: Part[] = [{ fd: found.fd, layer: first.layer }]
    const owned: number[] = []
    try {
      for (const part of this.#below(found, first)) {
        owned.push(part.fd)
        parts.push(part)
      }
      return new LayeredView(this.#layers, parts, owned)
    } catch (error) {
      for (const fd of owned) closeSync(fd)
      throw error
    }
  }

  *#below(found: Found, first: Part): Generator<Part> {
    let { name } = found
    let { layer } = first
    let mark = this.#layers.markOf(found.fd, layer)
    for (const part of this.parts.slice(found.index + 1)) {
      if (mark.ends || mark.way !== undefined) break
      name = mark.name ?? name
      mark = unmarked
      const next = findInside(part.fd, name)
      if (next === undefined) continue
      if (!next.stats.isDirectory()) return closeSync(next.fd)
      yield { fd: next.fd, layer: part.layer }
      layer = part.layer
      mark = this.#layers.markOf(next.fd, layer)
    }
    // A rename may lead to where this directory itself does not reach.
    if (!mark.ends && mark.way !== undefined) yield* this.#layers.search(layer + 1, mark.way)
  }

  close(): void {
    for (const fd of this.#owned) closeSync(fd)
  }
}

const isWhiteout = (stats: BigIntStats): boolean => stats.isCharacterDevice() && stats.rdev === 0n

/** What overlayfs has noted on a directory of a layer. */
interface Mark {
  /** Nothing further below belongs to it. */
  readonly ends: boolean
  /** Its name in further layers, in the same directory. */
  readonly name?: Name
  /** The way to it in further layers, from their roots. */
  readonly way?: readonly Name[]
}

const unmarked: Mark = { ends: false }

class Layers {
  readonly #roots: readonly number[]
  #attributes: Attributes | undefined

  constructor(roots: readonly number[]) {
    this.#roots = roots
  }

  markOf(fd: number, layer: number): Mark {
    if (layer >= this.#roots.length - 1) return { ends: true }
    const attributes = (this.#attributes ??= readableAttributes())
    if (attributes.get(itself(fd), 'trusted.overlay.opaque')?.toString('latin1') === 'y') return { ends: true }
    const text = attributes.get(itself(fd), 'trusted.overlay.redirect')?.toString('latin1')
    if (text === undefined) return unmarked
    const names = text.split('/').filter((name) => name !== '')
    const [only] = names
    if (only === undefined || names.includes('.') || names.includes('..')) throw misled()
    return text.startsWith('/') ? { ends: false, way: names.map(bytesOf) } : { ends: false, name: bytesOf(only) }
  }

  /** From the roots of this layer and those below it, along the names; a rename on the way counts for the layers after it. */
  *search(from: number, names: readonly Name[]): Generator<Part> {
    let way = names
    for (let layer = from; layer < this.#roots.length; layer++) {
      const walked = this.#walk(layer, way)
      if (walked.fd !== undefined) yield { fd: walked.fd, layer }
      if (walked.ends) return
      way = walked.way
    }
  }

  #walk(
    layer: number,
    way: readonly Name[],
  ): { readonly fd?: number; readonly ends: boolean; readonly way: readonly Name[] } {
    let at = this.#roots[layer] ?? -1
    let next: readonly Name[] = []
    let ends = false
    for (const [index, name] of way.entries()) {
      const found = findInside(at, name)
      if (index > 0) closeSync(at)
      if (found === undefined) return { ends, way: [...next, ...way.slice(index)] }
      at = found.fd
      if (!found.stats.isDirectory()) {
        closeSync(at)
        return { ends: true, way }
      }
      const mark = this.markOf(at, layer)
      // A way from the roots leads on, whatever was closed above.
      ends = mark.way === undefined && (ends || mark.ends)
      next = mark.way ?? [...next, mark.name ?? name]
    }
    return { fd: at, ends, way: next }
  }
}

/** The text of an attribute holds one character for each byte. */
const bytesOf = (name: string): Buffer => Buffer.from(name, 'latin1')

/** To anyone but root the kernel says that there are no such attributes, which would show what was deleted. */
function readableAttributes(): Attributes {
  const attributes = process.geteuid?.() === 0 ? openAttributes() : undefined
  if (attributes !== undefined) return attributes
  throw new GloveboxError(
    'NOT_PERMITTED',
    'Cannot see the whole workspace of a fork: the notes of overlayfs are unreadable',
    {
      hint: 'Look at it as root, with the optional package koffi installed; or make a copy of it as root: glovebox runs fork --copy.',
    },
  )
}

const misled = (): GloveboxError =>
  new GloveboxError('RECORD_DAMAGED', 'Cannot see the whole workspace of a fork: a renamed directory leads nowhere')
