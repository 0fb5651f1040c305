// Finds the operator's settings file and reads it without trusting the directory it lies in.
// SECURITY: settings decide what the guest may do, so a file that somebody else could have written is refused,
// not skipped: skipping would let an intruder remove a limit by spoiling the file.
// test/attacks/settings: "settings that another party could have written are refused"
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, readSync, type Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { GloveboxError } from '../errors/error.ts'
import { settingsStandIn } from '../policy/protect.ts'

const settingsName = 'glovebox.yaml'
const misspelt = ['glovebox.yml', '.glovebox.yaml', '.glovebox.yml']
const maxBytes = 1024 * 1024
const worldWritable = 0o002

export type FileKind = 'settings' | 'policy' | 'vaults'

export interface SettingsText {
  readonly path: string
  readonly text: string
  /** What its writer meant it to be. Default: settings. */
  readonly kind?: FileKind
}

/** The nearest `glovebox.yaml` in the directory or above it. */
export function findSettingsFile(directory: string): string | undefined {
  for (const place of upward(directory)) {
    const path = join(place, settingsName)
    if (isThere(path) && !isStandIn(path)) {
      refuseGuestMade(path)
      return path
    }
    const slip = misspelt.map((name) => join(place, name)).find(isThere)
    if (slip !== undefined) {
      throw refuse('its name is misspelt', settingsAt(slip), { hint: `Rename it to ${settingsName}, or move it away.` })
    }
  }
  return undefined
}

/** SECURITY: a stand-in must not hide settings further up.
 * test/faults/kill: "a stand-in hides no settings further up, and does not keep a second command from starting" */
function isStandIn(path: string): boolean {
  try {
    const seen = lstatSync(path)
    if (!seen.isFile() || seen.size !== Buffer.byteLength(settingsStandIn)) return false
    return readFileSync(path, 'utf8') === settingsStandIn
  } catch (cause) {
    // Gone: the sandbox that needed it has just ended. Anything else is told when it is read as settings.
    return (cause as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

export function readSettingsFile(path: string): SettingsText {
  return { path, text: readChecked(settingsAt(path), { trusted: true }) }
}

/** A file that the operator named on the command line: named is trusted, but it must be a small regular file or a pipe. */
export function readNamedFile(path: string, kind: FileKind): SettingsText {
  return { path, text: readChecked({ path, kind }, { trusted: false }), kind }
}

interface NamedFile {
  readonly path: string
  readonly kind: FileKind
}

function readChecked(file: NamedFile, options: { readonly trusted: boolean }): string {
  const descriptor = open(file, options.trusted ? constants.O_NOFOLLOW | constants.O_NONBLOCK : 0)
  try {
    // On the descriptor, since the name could be exchanged between a check and the reading.
    if (options.trusted) refuseForeign(file, fstatSync(descriptor))
    return readAll(file, descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function open(file: NamedFile, flags: number): number {
  try {
    return openSync(file.path, constants.O_RDONLY | flags)
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    if (code === 'ELOOP') throw refuse('it is a symbolic link', file, { hint: 'Put the file itself in its place.' })
    if (code === 'ENOENT') throw refuse('it does not exist', file, { hint: 'Check the name that was given.' })
    throw refuse(`it cannot be opened (${code ?? 'unknown cause'})`, file, { hint: 'Check its permissions.' })
  }
}

function refuseForeign(file: NamedFile, stats: Stats): void {
  if (!stats.isFile()) throw refuse('it is not a regular file', file, { hint: 'Put a regular file in its place.' })
  if ((stats.mode & worldWritable) !== 0) {
    throw refuse('everybody on this machine may write it', file, { hint: `Run: chmod o-w ${settingsName}` })
  }
  const operator = process.getuid?.()
  if (operator !== undefined && stats.uid !== operator && stats.uid !== 0) {
    throw refuse('it belongs to somebody else', file, {
      hint: 'Its owner must be root or the user who runs glovebox: chown the file, or pass its policy with --policy.',
    })
  }
}

function readAll(file: NamedFile, descriptor: number): string {
  const chunks: Buffer[] = []
  let total = 0
  for (;;) {
    const chunk = Buffer.alloc(64 * 1024)
    const count = readOrRefuse(file, descriptor, chunk)
    if (count === 0) break
    total += count
    if (total > maxBytes) throw refuse('it is larger than 1 MiB', file, { hint: 'Settings are a short text.' })
    chunks.push(chunk.subarray(0, count))
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw refuse('it is not UTF-8 text', file, { hint: 'Save it as UTF-8.' })
  }
}

function readOrRefuse(file: NamedFile, descriptor: number, into: Buffer): number {
  try {
    return readSync(descriptor, into)
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown cause'
    throw refuse(`it cannot be read (${code})`, file, { hint: 'Give a file of text.' })
  }
}

/**
 * The settings of a workspace's own root are protected inside the sandbox. Deeper down the guest can make a file of
 * that name; `.glovebox/sandbox` above it marks a directory in which a guest has worked, and so does the log of a run.
 */
function refuseGuestMade(path: string): void {
  const own = dirname(path)
  const workspace = upward(dirname(own)).find((place) => place !== own && isGuestGround(place))
  if (workspace === undefined) return
  throw refuse('it lies inside a workspace in which a sandbox can write', settingsAt(path), {
    hint: `Move it to the workspace's root or above, or remove it. The workspace is marked by its .glovebox directory.`,
  })
}

const isGuestGround = (place: string): boolean =>
  isThere(join(place, '.glovebox/sandbox')) ||
  (['workspace', 'deliverables'].includes(basename(place)) && isThere(join(dirname(place), 'events.jsonl')))

function upward(directory: string): readonly string[] {
  const parent = dirname(directory)
  return parent === directory ? [directory] : [directory, ...upward(parent)]
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

const settingsAt = (path: string): NamedFile => ({ path, kind: 'settings' })

function refuse(cause: string, { path, kind }: NamedFile, details: { readonly hint: string }): GloveboxError {
  return new GloveboxError('INVALID_SETTINGS', `Cannot use the ${kind} file: ${cause}.`, {
    hint: details.hint,
    operatorDetail: path,
  })
}
