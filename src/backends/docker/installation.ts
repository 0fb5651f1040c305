// The name of this installation: a random one that is made once and kept in the state directory. Containers carry it, so that
// two installations that share a daemon never touch each other's.
import { randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GloveboxError } from '../../errors/error.ts'

const form = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function readInstallation(stateDir: string): string {
  const directory = join(stateDir, 'docker')
  const path = join(directory, 'installation')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return readOwn(path) ?? makeOwn(path)
}

function makeOwn(path: string): string {
  const temporary = `${path}.${randomUUID()}`
  writeFileSync(temporary, `${randomUUID()}\n`, { mode: 0o600, flag: 'wx' })
  try {
    // Whole or not at all; and where another process was quicker, its name holds.
    linkSync(temporary, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(temporary)
  }
  const own = readOwn(path)
  if (own !== undefined) return own
  throw damaged(path)
}

function readOwn(path: string): string | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  if (form.test(text)) return text
  throw damaged(path)
}

const damaged = (path: string): GloveboxError =>
  new GloveboxError('BACKEND_UNAVAILABLE', 'Cannot use docker: the name of this installation cannot be read', {
    hint: 'Remove the file docker/installation in the state directory, once no container of this installation is left.',
    operatorDetail: path,
  })
