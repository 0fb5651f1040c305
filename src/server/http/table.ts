// Which methods a path takes, for the answer to the wrong one.
import type { Route } from './route.ts'

export function matcherOf(routes: readonly Route[]): (path: string) => readonly string[] {
  const known = routes.map(({ path, method }) => ({ pattern: patternOf(path), method: method.toUpperCase() }))
  return (path) => known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
}

/** What stands in a path for each name in braces, as it came; undefined where it is another path. */
export function paramsIn(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  const params: [string, string][] = []
  for (const [index, part] of wanted.entries()) {
    const value = given[index] as string
    if (part.startsWith('{')) params.push([part.slice(1, -1), value])
    else if (part !== value) return undefined
  }
  return Object.fromEntries(params)
}

/** Paths are of letters, digits, dots and dashes beside what stands in braces. */
function patternOf(path: string): RegExp {
  const parts = path.split('/').map((part) => {
    if (part.endsWith('+}')) return '.+'
    return part.startsWith('{') ? '[^/]+' : part.replaceAll('.', '\\.')
  })
  return new RegExp(`^${parts.join('/')}$`)
}
