// Atomic replacement: a new file under a temporary name in the same directory, synced, then renamed over
// the old one. A reader sees the old bytes or the new; a crash leaves the old ones and at most the temporary.
import { randomBytes } from 'node:crypto'
import { closeSync, constants, fchmodSync, fchownSync, openSync, renameSync, unlinkSync } from 'node:fs'
import { syncFile } from './content.ts'
import { inside, reopenDirectory, type Opened } from './descriptor.ts'
import { ownerLike } from './owner.ts'
import { isErrno } from './refusal.ts'
import type { Target } from './target.ts'

export const temporaryPrefix = '.glovebox-tmp-'
/** Of what a guest is to use. */
export const newFileMode = 0o644

/** `replaced` lends its permission bits and owner to the new file. */
export async function replaceFile(
  target: Target,
  replaced: Opened | undefined,
  fill: (fd: number) => Promise<void>,
): Promise<void> {
  // Opened first: if the directory could not be synced afterwards, nothing must change.
  const directory = reopenDirectory(target.parent.fd)
  try {
    await publish(target, replaced, fill)
    await syncFile(directory)
  } finally {
    closeSync(directory)
  }
}

async function publish(
  target: Target,
  replaced: Opened | undefined,
  fill: (fd: number) => Promise<void>,
): Promise<void> {
  const temporary = inside(target.parent.fd, `${temporaryPrefix}${randomBytes(12).toString('hex')}`)
  // SECURITY: O_EXCL makes the file ours; a link that waits under the name is an error, not a way out.
  // test/attacks/symlink-race: "no try leaks"
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  try {
    await fill(fd)
    dress(fd, target, replaced)
    await syncFile(fd)
    // SECURITY: rename acts on the name and never through it, so a link or a second name of the old file is
    // replaced, not written. test/attacks/host-paths: "a write does not reach through a hard link"
    renameSync(temporary, inside(target.parent.fd, target.name))
  } catch (error) {
    discard(temporary)
    throw error
  } finally {
    closeSync(fd)
  }
}

function dress(fd: number, target: Target, replaced: Opened | undefined): void {
  // A copy of old content must not become readable for somebody who could not read the original.
  const owner = replaced === undefined ? target.owner : ownerLike(replaced.stats)
  if (owner !== undefined) fchownSync(fd, owner.uid, owner.gid)
  // SECURITY: set-user-id and set-group-id bits are never carried over. test/attacks/host-paths: "a write drops the setuid bit"
  fchmodSync(fd, replaced === undefined ? newFileMode : Number(replaced.stats.mode & 0o777n))
}

function discard(temporary: string | Buffer): void {
  try {
    unlinkSync(temporary)
  } catch (error) {
    // The guest may have removed it; the failure that brought us here is the one to tell.
    if (!isErrno(error)) throw error
  }
}
