// The search program that the package brings along, so that a search inside a sandbox does not depend on what is installed.
import { createRequire } from 'node:module'
import { realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { HostPath } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'

export function findSearchProgram(): HostPath {
  const require = createRequire(import.meta.url)
  const name = `@vscode/ripgrep-${process.platform}-${process.arch}`
  try {
    // The platform's package is a dependency of @vscode/ripgrep, not of ours, and may be nested below it.
    const door = createRequire(require.resolve('@vscode/ripgrep'))
    return realpathSync(join(dirname(door.resolve(`${name}/package.json`)), 'bin', 'rg')) as HostPath
  } catch (error) {
    throw new GloveboxError(
      'BACKEND_UNAVAILABLE',
      'Cannot search files: the package that brings the search program is not installed',
      {
        hint: 'Install the dependencies again, with optional ones: npm ci --include=optional.',
        operatorDetail: error instanceof Error ? error.message : String(error),
      },
    )
  }
}
