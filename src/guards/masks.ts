// What may not be read is covered: a directory by an empty one that nobody may enter, a file by an empty one that nobody may
// open. A path that does not exist needs no cover: whatever appears there later was made by the guest itself.
import { chmodSync, lstatSync, readdirSync, writeFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxSpec } from '../contract/backend.ts'
import type { GuestPath, Mount } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { parseGuestPath } from '../paths/guest.ts'
import { mountTable } from '../paths/table.ts'
import type { Guard, Mask } from './rule.ts'

export type Further = (hostPath: string) => Promise<string>

export async function openMasks(spec: SandboxSpec, scratch: string, further: Further): Promise<readonly Mask[]> {
  const hidden = spec.policy.denyRead
    .map((text) => parseGuestPath(text))
    .map((path) => ({ path, kind: kindAt(spec, path) }))
  if (hidden.length === 0) return []
  // A link on the way is refused now, and not at the first exec.
  pinsForMasks(spec, (mount) => mount.hostPath)
  const coverFile = await further(emptyFile(join(scratch, 'cover')))
  return hidden.flatMap(({ path, kind }): Mask[] => {
    if (kind === 'missing') return []
    return [kind === 'directory' ? { guestPath: path } : { guestPath: path, coverFile }]
  })
}

/** SECURITY: each directory that leads to a hidden path is pinned, or the guest would move it and read, at the next exec,
 * what was hidden. test/attacks/files: "a hidden file stays hidden when its directory is moved" */
export function pinsForMasks(spec: SandboxSpec, sourceOf: (mount: Mount) => string): readonly Guard[] {
  const table = mountTable(spec.mounts)
  return spec.policy.denyRead.flatMap((text): Guard[] => {
    const place = table.locate(parseGuestPath(text))
    if (place === undefined || place.mount.mode !== 'rw') return []
    const { mount, segments } = place
    return segments.slice(0, -1).flatMap((_, index): Guard[] => {
      const names = segments.slice(0, index + 1)
      const seen = lstatSync(join(mount.hostPath, ...names), { throwIfNoEntry: false })
      if (seen?.isSymbolicLink()) throw linkHidden(text)
      const guestPath = [mount.guestPath, ...names].join('/')
      return seen?.isDirectory() ? [{ guestPath, source: join(sourceOf(mount), ...names), rule: 'pin' }] : []
    })
  })
}

function emptyFile(path: string): string {
  writeFileSync(path, '', { mode: 0o000 })
  chmodSync(path, 0o000)
  return path
}

function kindAt(spec: SandboxSpec, path: GuestPath): 'directory' | 'file' | 'missing' {
  const place = mountTable(spec.mounts).locate(path)
  const hostPath = place === undefined ? path : join(place.mount.hostPath, ...place.segments)
  const seen = lstatSync(hostPath, { throwIfNoEntry: false })
  if (seen === undefined) return 'missing'
  if (seen.isSymbolicLink()) throw linkHidden(path)
  return seen.isDirectory() ? 'directory' : 'file'
}

const linkHidden = (path: string): GloveboxError =>
  new GloveboxError(
    'BOUNDARY_FAILED',
    `Cannot hide ${path}: it is, or leads through, a symbolic link, which cannot be covered`,
    {
      hint: 'Name in denyRead what the link leads to.',
    },
  )

/** A directory with the vault's names and none of its contents, to be mounted in its place. */
export function vaultNames(mount: Mount, scratch: string, index: number): string {
  const shown = join(scratch, `vault-${index}`)
  mkdirSync(shown, { mode: 0o755 })
  for (const entry of readdirSync(mount.hostPath, { withFileTypes: true })) {
    if (entry.isDirectory()) mkdirSync(join(shown, entry.name), { mode: 0o000 })
    else emptyFile(join(shown, entry.name))
  }
  return shown
}
