// Makes a placeholder in two steps, so that a kill between them leaves nothing that cannot be told from the user's own:
// first under a unique name, which only a journal can know; then, when its inode is on record, under the protected name.
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
  type BigIntStats,
} from 'node:fs'
import { GloveboxError } from '../../errors/error.ts'
import { hasCode } from './codes.ts'
import { below, bornIn, findEntry } from './walk.ts'

export interface Target {
  /** Open descriptor of the directory that is to hold it. */
  readonly parent: number
  readonly component: string
  readonly maskedName: string
  readonly kind: 'file' | 'directory'
  readonly content?: string
  readonly temporary: string
}

export interface Made {
  readonly device: string
  readonly inode: string
  readonly born?: string
}

export const newTemporaryName = (): string => `.glovebox-${randomBytes(12).toString('hex')}`

export interface Owner {
  readonly uid: bigint
  readonly gid: bigint
}

/** Under its temporary name. `owner` is set when we are root, so that the user can remove what belongs beside their files. */
export function makeTemporary(target: Target, owner: Owner | undefined): Made {
  const path = below(target.parent, target.temporary)
  try {
    const found = target.kind === 'file' ? makeFile(path, target.content, owner) : makeDirectory(path, owner)
    return { device: String(found.dev), inode: String(found.ino), ...bornIn(target.parent, found) }
  } catch (error) {
    throw cannotHold(target, error)
  }
}

function makeFile(path: string, content: string | undefined, owner: Owner | undefined): BigIntStats {
  const descriptor = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o644)
  try {
    if (content !== undefined) writeSync(descriptor, content)
    return owned(descriptor, owner)
  } finally {
    closeSync(descriptor)
  }
}

function makeDirectory(path: string, owner: Owner | undefined): BigIntStats {
  mkdirSync(path, 0o755)
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    return owned(descriptor, owner)
  } finally {
    closeSync(descriptor)
  }
}

function owned(descriptor: number, owner: Owner | undefined): BigIntStats {
  const made = fstatSync(descriptor, { bigint: true })
  if (owner !== undefined && (made.uid !== owner.uid || made.gid !== owner.gid))
    fchownSync(descriptor, Number(owner.uid), Number(owner.gid))
  return made
}

/** Gives it the protected name, and never takes the place of a file that came there in the meantime. */
export function giveName(target: Target, made: Made): void {
  const [from, to] = [below(target.parent, target.temporary), below(target.parent, target.component)]
  try {
    if (target.kind === 'file') {
      linkSync(from, to)
      unlinkSync(from)
    } else {
      // rename takes the place of nothing but an empty directory.
      renameSync(from, to)
    }
  } catch (error) {
    if (hasCode(error, 'EEXIST', 'ENOTEMPTY', 'ENOTDIR', 'ENOENT')) throw swapped(target)
    throw cannotHold(target, error)
  }
  const found = findEntry(target.parent, target.component)
  // SECURITY: another sandbox on the same workspace may swap the temporary name; what it put there is not held.
  // src/guards/placeholders: "refuses what was swapped before it got its name"
  if (found === undefined || String(found.ino) !== made.inode || String(found.dev) !== made.device)
    throw swapped(target)
}

const swapped = ({ maskedName }: Target): GloveboxError =>
  new GloveboxError('BUSY', `Cannot protect ${maskedName}: it was changed at the same moment`, {
    hint: 'try again',
    facts: { name: maskedName },
  })

function cannotHold({ maskedName }: Target, error: unknown): GloveboxError {
  const about = {
    operatorDetail: error instanceof Error ? error.message : String(error),
    facts: { name: maskedName },
    cause: error,
  }
  if (hasCode(error, 'ENOSPC', 'EDQUOT'))
    return new GloveboxError('NO_SPACE', `Cannot protect ${maskedName}: no space is left for a placeholder`, {
      hint: 'Free space on the disk of the mount.',
      ...about,
    })
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
  return new GloveboxError(
    'NOT_PERMITTED',
    `Cannot protect ${maskedName}: no placeholder can be made for it (${code})`,
    {
      hint: `mount the directory read-only, or make ${maskedName} yourself, or let the operator give up its protection (policy.unprotect)`,
      ...about,
    },
  )
}
