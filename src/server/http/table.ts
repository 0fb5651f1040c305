// Which methods a path takes, for the answer to the wrong one.
import type { Route } from './route.ts'

export function matcherOf(routes: readonly Route[]): (path: string) => readonly string[] {
  const known = routes.map(({ path, method }) => ({ pattern: patternOf(path), method: method.toUpperCase() }))
  return (path) => known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
}

/** Paths are of letters, digits, dots and dashes beside what stands in braces. */
function patternOf(path: string): RegExp {
  const parts = path.split('/').map((part) => {
    if (part.endsWith('+}')) return '.+'
    return part.startsWith('{') ? '[^/]+' : part.replaceAll('.', '\\.')
  })
  return new RegExp(`^${parts.join('/')}$`)
}
