// The name of this installation: a random one that is made once and kept in the state directory. What runs outside of our processes carries
// it, so that two installations that share a daemon never touch each other's. A server keeps it with its data, too: whoever loses the
// state and keeps the data is the same installation, and must find what it left running. A directory that several servers share has a name
// of its own, whatever installations they are.
import { randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, realpathSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { GloveboxError } from '../errors/error.ts'

const form = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const placeIn = (stateDir: string): string => join(stateDir, 'docker', 'installation')

export function readInstallation(stateDir: string): string {
  const path = placeIn(stateDir)
  return readName(path) ?? placed(path, randomUUID())
}

/** Undefined where nothing was ever started under a name. */
export const findInstallation = (stateDir: string): string | undefined => readName(placeIn(stateDir))

/** Before anything is started under the name. */
export function keepInstallation(stateDir: string, dataDir: string): void {
  const path = placeIn(stateDir)
  const name = readName(path) ?? keptWith(dataDir) ?? randomUUID()
  keepWith(dataDir, placed(path, name))
}

/** The same for whoever asks for this directory, and another one where it was copied or moved to. */
export function nameOfDirectory(directory: string): string {
  keepWith(directory, randomUUID())
  const name = keptWith(directory)
  if (name !== undefined) return name
  throw damaged(keptPath(directory))
}

/** The first one's stays where servers with states of their own share the data. */
function keepWith(dataDir: string, name: string): void {
  const [path, here] = [keptPath(dataDir), realpathSync(dataDir)]
  const text = readIfThere(path)
  if (text?.split('\n')[1] === here) return
  // Of two that come first to a directory without a name, neither takes the other's away.
  if (text !== undefined) rmSync(path, { force: true })
  placeNew(path, `${name}\n${here}\n`)
}

const keptPath = (dataDir: string): string => join(dataDir, '.installation')

/** Data that was copied or moved here is not that of whoever bears the name. */
function keptWith(dataDir: string): string | undefined {
  const [name = '', at] = (readIfThere(keptPath(dataDir)) ?? '').split('\n')
  return form.test(name) && at === realpathSync(dataDir) ? name : undefined
}

function readName(path: string): string | undefined {
  const text = readIfThere(path)?.trim()
  if (text === undefined || form.test(text)) return text
  throw damaged(path)
}

/** Where another process was quicker, its name holds. */
function placed(path: string, name: string): string {
  placeNew(path, `${name}\n`)
  const own = readName(path)
  if (own !== undefined) return own
  throw damaged(path)
}

/** Whole or not at all. What is there stays. */
function placeNew(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${randomUUID()}`
  // Synced: behind a power cut the name would be there with nothing in it, and every later start refused.
  writeFileSync(temporary, text, { mode: 0o600, flag: 'wx', flush: true })
  try {
    linkSync(temporary, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(temporary)
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const damaged = (path: string): GloveboxError =>
  new GloveboxError(
    'BACKEND_UNAVAILABLE',
    'Cannot tell which containers are ours: the name of this installation cannot be read',
    {
      hint: 'Remove the file that bears it, once no container of this installation is left.',
      operatorDetail: path,
    },
  )
