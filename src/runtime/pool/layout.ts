// What a member's files look like from inside. `workspace` is one empty /workspace; `thread` is the layout that agents of a
// conversation know: uploads, a workspace and outputs below /mnt/user-data, and the operator's skills, read-only, beside them.
import { chmodSync, chownSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { HostPath } from '../../contract/mount.ts'
import type { MountRequest } from '../mount-text.ts'
import { furnish } from './furnish.ts'

export const layoutNames = ['workspace', 'thread'] as const
export type LayoutName = (typeof layoutNames)[number]

interface Part {
  readonly guestPath: string
  /** Below the member's directory, and below each of its layers. */
  readonly inside: string
}

const parts: Readonly<Record<LayoutName, readonly Part[]>> = {
  workspace: [{ guestPath: '/workspace', inside: 'workspace' }],
  thread: ['workspace', 'uploads', 'outputs'].map((name) => ({
    guestPath: `/mnt/user-data/${name}`,
    inside: join('user-data', name),
  })),
}

/** What is copied, layered and snapshotted of a member. Its home is among them where no mount holds it. */
export const insides = (layout: LayoutName): readonly string[] => parts[layout].map(({ inside }) => inside)

export const firstPlace: Readonly<Record<LayoutName, string>> = {
  workspace: '/workspace',
  thread: '/mnt/user-data/workspace',
}

export const skillsPlace = '/mnt/skills'

export interface LaidOut {
  readonly layout: LayoutName
  readonly directory: HostPath
  /** Directories of snapshots with the same insides, nearest first. */
  readonly layers: readonly HostPath[]
}

/** Makes what is missing; what an earlier process left is used as it is. */
export function layOut({ layout, directory, layers }: LaidOut): readonly MountRequest[] {
  return parts[layout].map(({ guestPath, inside }, index) => {
    const hostPath = join(directory, inside)
    const lower = layers.map((layer) => join(layer, inside))
    const isNew = makeLike(hostPath, lower[0])
    if (isNew && lower.length === 0) furnish(hostPath, { withHome: guestPath === '/workspace' })
    if (lower.length === 0) return { guestPath, hostPath, mode: 'rw' }
    const work = join(directory, 'work', String(index))
    mkdirSync(work, { recursive: true, mode: 0o700 })
    return { guestPath, hostPath, mode: 'rw', over: { lower, work } }
  })
}

/** The root of an overlay is the upper directory itself, so it needs the owner and mode of what it covers. */
function makeLike(path: string, model: string | undefined): boolean {
  if (existsSync(path)) return false
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  mkdirSync(path, { mode: 0o755 })
  if (model === undefined) return true
  const { uid, gid, mode } = statSync(model)
  chownSync(path, uid, gid)
  chmodSync(path, mode & 0o7777)
  return true
}
