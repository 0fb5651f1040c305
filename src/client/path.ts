// A path of an artifact as a part of an address: its slashes stay, and nothing else in it is more than a letter of a name.
import { GloveboxError } from '../errors/error.ts'

/** These are taken away from an address, however they are written, and something else would be asked for. */
const swallowed: ReadonlySet<string> = new Set(['', '.', '..'])

export function pathOf(path: string): string {
  const parts = path.split('/')
  if (parts.some((part) => swallowed.has(part)))
    throw new GloveboxError('INVALID_PATH', 'Cannot read the artifact: its path has an empty part, "." or ".."', {
      hint: 'Spell it as the list of artifacts does.',
    })
  return parts.map(encodeURIComponent).join('/')
}
