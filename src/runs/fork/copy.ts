// A tree copied into an empty directory, for hosts on which it cannot be seen through. Read by descriptor, since a guest made
// it; links are copied as links. With `reflink` every file shares its blocks with the original, or the copy is refused.
import { chmodSync, chownSync, closeSync, constants, mkdirSync, symlinkSync, utimesSync, readlinkSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { GloveboxError } from '../../errors/error.ts'
import { inside, itself, type Opened } from '../../paths/descriptor.ts'
import { isErrno } from '../../paths/refusal.ts'
import type { ForkMethod } from '../../contract/fork.ts'
import { namesIn } from './listing.ts'
import { openView, type DirectoryView, type Found } from './merged-view.ts'

export interface Copied {
  readonly entries: number
  readonly bytes: number
}

export type CopyMethod = Exclude<ForkMethod, 'overlay'>

const { COPYFILE_EXCL, COPYFILE_FICLONE_FORCE } = constants

/** `layers` nearest first; `destination` is an empty directory. */
export async function copyTree(layers: readonly string[], destination: string, by: CopyMethod): Promise<Copied> {
  const copying = new Copying(by === 'reflink' ? COPYFILE_EXCL | COPYFILE_FICLONE_FORCE : COPYFILE_EXCL)
  const root = openView(layers)
  try {
    await copying.directory(root, Buffer.from(destination))
    return copying.copied
  } finally {
    root.close()
  }
}

class Copying {
  readonly #flags: number
  #entries = 0
  #bytes = 0

  constructor(flags: number) {
    this.#flags = flags
  }

  get copied(): Copied {
    return { entries: this.#entries, bytes: this.#bytes }
  }

  async directory(view: DirectoryView, destination: Buffer): Promise<void> {
    for (const name of namesIn(view)) {
      const found = view.find(name)
      if (found === undefined) continue
      try {
        await this.#entry(view, found, Buffer.concat([destination, Buffer.from('/'), name]))
      } finally {
        closeSync(found.fd)
      }
    }
  }

  async #entry(view: DirectoryView, found: Found, to: Buffer): Promise<void> {
    const { stats } = found
    this.#entries += 1
    if (stats.isSymbolicLink()) return symlinkSync(readlinkSync(inside(found.within, found.name), 'buffer'), to)
    if (stats.isDirectory()) {
      mkdirSync(to, 0o700)
      const below = view.enter(found)
      try {
        await this.directory(below, to)
      } finally {
        below.close()
      }
    } else if (stats.isFile()) {
      await this.#file(found, to)
      this.#bytes += Number(stats.size)
    } else throw unusual(found)
    likeness(found, to)
  }

  async #file({ fd, name }: Found, to: Buffer): Promise<void> {
    try {
      await copyFile(itself(fd), to, this.#flags)
    } catch (error) {
      if (!isErrno(error)) throw error
      throw new GloveboxError(
        error.code === 'ENOSPC' || error.code === 'EDQUOT' ? 'NO_SPACE' : 'NOT_PERMITTED',
        `Cannot copy the workspace: ${shown(name)} could not be copied (${error.code})`,
        { hint: 'Nothing was made. Give yourself the right to read it, or fork on another file system.' },
      )
    }
  }
}

/** Rights last: a directory that nobody may write must be filled first. */
function likeness({ stats }: Opened, to: Buffer): void {
  if (process.geteuid?.() === 0) chownSync(to, Number(stats.uid), Number(stats.gid))
  chmodSync(to, Number(stats.mode & 0o7777n))
  utimesSync(to, Number(stats.atimeNs) / 1e9, Number(stats.mtimeNs) / 1e9)
}

const shown = (name: string | Buffer): string => JSON.stringify(name.toString('utf8')).slice(0, 200)

const unusual = ({ name }: Found): GloveboxError =>
  new GloveboxError('NOT_A_FILE', `Cannot copy the workspace: ${shown(name)} is a pipe, a socket or a device`, {
    hint: 'Nothing was made. Such things cannot be copied; remove it, or fork as root, where nothing need be copied.',
  })
