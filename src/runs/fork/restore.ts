// Puts a workspace back to an earlier moment: as a thin layer over it, which changes nothing of it, or in a copy.
import { chmodSync, chownSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync, type Stats } from 'node:fs'
import { GloveboxError } from '../../errors/error.ts'
import { openAttributes } from '../../process/attributes.ts'
import type { Restoration, Restored } from './at.ts'

const below = (root: string, place: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(place, 'latin1')])

/** `root` is an empty directory that is to be the layer. What is to be gone is hidden by a whiteout. */
export function restoreAsLayer({ steps, modes }: Restoration, root: string): void {
  const owner = statSync(root)
  const attributes = openAttributes()
  const made = new Set<string>()
  const makeParents = (place: string): void => {
    const names = place.split('/').slice(0, -1)
    names.forEach((_, index) => {
      const parent = names.slice(0, index + 1).join('/')
      if (made.has(parent)) return
      made.add(parent)
      make(root, { do: 'directory', place: parent, mode: modes.get(parent) ?? 0o755 }, owner)
    })
  }
  for (const step of steps) {
    makeParents(step.place)
    if (step.do === 'directory') made.add(step.place)
    if (step.do !== 'remove') make(root, step, owner)
    else if (attributes === undefined) throw noWhiteouts()
    else attributes.makeWhiteout(below(root, step.place))
  }
}

/** `root` is a copy of the workspace as it is now. */
export function restoreInCopy({ steps }: Restoration, root: string): void {
  const owner = statSync(root)
  for (const step of steps) {
    const path = below(root, step.place)
    const isKept = step.do === 'directory' && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
    if (!isKept)
      rmSync(path.toString('latin1') === path.toString('utf8') ? path.toString() : path, {
        recursive: true,
        force: true,
      })
    if (isKept) chmodSync(path, step.mode)
    else if (step.do !== 'remove') make(root, step, owner)
  }
}

function make(root: string, step: Exclude<Restored, { do: 'remove' }>, owner: Stats): void {
  const path = below(root, step.place)
  if (step.do === 'link') return symlinkSync(step.target, path)
  if (step.do === 'directory') mkdirSync(path)
  else writeFileSync(path, step.bytes, { flag: 'wx' })
  if (process.geteuid?.() === 0) chownSync(path, owner.uid, owner.gid)
  chmodSync(path, step.mode)
}

const noWhiteouts = (): GloveboxError =>
  new GloveboxError('BACKEND_UNAVAILABLE', 'Cannot fork an earlier moment by overlay: koffi is not installed', {
    hint: 'Install the optional package koffi, or fork with --copy.',
  })
