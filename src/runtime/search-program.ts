// The search program that the package brings along, so that a search inside a sandbox does not depend on what is installed.
import { existsSync, realpathSync } from 'node:fs'
import type { HostPath } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { packagePlaces } from '../process/package-places.ts'

export function findSearchProgram(): HostPath {
  const name = `@vscode/ripgrep-${process.platform}-${process.arch}`
  const places = packagePlaces(import.meta.dirname)
  // The platform's package is a dependency of @vscode/ripgrep, not of ours, and may be nested below it.
  const found = places
    .flatMap((place) => [`${place}/${name}`, `${place}/@vscode/ripgrep/node_modules/${name}`])
    .map((directory) => `${directory}/bin/rg`)
    .find((file) => existsSync(file))
  if (found !== undefined) return realpathSync.native(found) as HostPath
  throw new GloveboxError(
    'BACKEND_UNAVAILABLE',
    'Cannot search files: the package that brings the search program is not installed',
    {
      hint: 'Install the dependencies again, with optional ones: npm ci --include=optional.',
      operatorDetail: `${name} was not found in ${places.join(', ')}`,
    },
  )
}
