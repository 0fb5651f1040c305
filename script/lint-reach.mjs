// Which files a lint must look at: those that changed, and every file that imports one of them, however far away, since a rule about types
// looks through imports.
import { createHash } from 'node:crypto'
import { dirname, join, normalize } from 'node:path'

const hashOf = (text) => createHash('sha256').update(text).digest('hex')

/** By path, what a file was. `texts`: path → content. */
export const hashesOf = (texts) => Object.fromEntries([...texts].map(([path, text]) => [path, hashOf(text)]))

/** Files of the checkout only. One name too many does no harm: more is looked at. */
function importsOf(path, text) {
  const relative = [...text.matchAll(/\b(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g)].map(([, target]) => target)
  return relative.map((target) => normalize(join(dirname(path), target)))
}

/** `before`: the hashes when everything was in order. A file that is gone counts for those that import it. */
export function toLint(before, texts) {
  const now = hashesOf(texts)
  const dependents = new Map()
  for (const [path, text] of texts)
    for (const target of importsOf(path, text)) dependents.set(target, [...(dependents.get(target) ?? []), path])
  const names = [...new Set([...Object.keys(before), ...texts.keys()])]
  const reached = new Set(names.filter((path) => before[path] !== now[path]))
  for (const path of reached) for (const dependent of dependents.get(path) ?? []) reached.add(dependent)
  return [...reached].filter((path) => texts.has(path))
}
