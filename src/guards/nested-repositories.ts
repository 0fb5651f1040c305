// Repositories below a writable mount have hooks and configuration of their own. Those near the top are found when a sandbox
// is made; the look is bounded, because it must not grow with the workspace. What lies deeper is declared in SECURITY.md.
import { accessSync, constants, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isErrno } from '../paths/refusal.ts'

const depth = 3
const mostDirectories = 400
const passedOver = new Set(['node_modules', '.git', '.glovebox', 'vendor', 'target', 'dist', '.venv', '__pycache__'])

export interface NestedRepositories {
  /** Relative paths of directories, other than the root, that contain `.git`. */
  readonly found: readonly string[]
  /** Of directories that we may not look into. A guest who owns one may open it again, and what is in it. */
  readonly closed: readonly string[]
}

export function nestedRepositories(root: string): NestedRepositories {
  const found: string[] = []
  const closed: string[] = []
  let looked = 0
  const look = (relative: string, level: number): void => {
    if (looked >= mostDirectories) return
    looked += 1
    const entries = listOpen(join(root, relative))
    if (entries === 'closed') return void (level > 0 && closed.push(relative))
    if (level > 0 && entries.some((entry) => entry.name === '.git')) found.push(relative)
    if (level === depth) return
    for (const entry of entries) {
      if (entry.isDirectory() && !passedOver.has(entry.name)) look(join(relative, entry.name), level + 1)
    }
  }
  look('', 0)
  return { found, closed }
}

function listOpen(path: string): ReturnType<typeof list> | 'closed' {
  try {
    const entries = list(path)
    // One that may be listed need not be one that may be entered.
    if (entries.length > 0) accessSync(path, constants.X_OK)
    return entries
  } catch (error) {
    // It may be gone by now, too: then there is nothing to protect.
    return isErrno(error, 'EACCES') ? 'closed' : []
  }
}

const list = (path: string) => readdirSync(path, { withFileTypes: true })
