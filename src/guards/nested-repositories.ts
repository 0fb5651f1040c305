// Repositories below a writable mount have hooks and configuration of their own. Those near the top are found when a sandbox
// is made; the look is bounded, because it must not grow with the workspace. What lies deeper is declared in SECURITY.md.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const depth = 3
const mostDirectories = 400
const passedOver = new Set(['node_modules', '.git', '.glovebox', 'vendor', 'target', 'dist', '.venv', '__pycache__'])

/** Relative paths of directories, other than the root, that contain `.git`. */
export function nestedRepositories(root: string): readonly string[] {
  const found: string[] = []
  let looked = 0
  const look = (relative: string, level: number): void => {
    if (looked >= mostDirectories) return
    looked += 1
    const entries = listQuietly(join(root, relative))
    if (level > 0 && entries.some((entry) => entry.name === '.git')) found.push(relative)
    if (level === depth) return
    for (const entry of entries) {
      if (entry.isDirectory() && !passedOver.has(entry.name)) look(join(relative, entry.name), level + 1)
    }
  }
  look('', 0)
  return found
}

function listQuietly(path: string): ReturnType<typeof list> {
  try {
    return list(path)
  } catch {
    // Unreadable for us: nothing inside can be protected, nor will the guest, with no more rights, reach it.
    return []
  }
}

const list = (path: string) => readdirSync(path, { withFileTypes: true })
