// The client runs wherever fetch does. What it loads is therefore as much a promise as what it does.
import { describe, expect, it } from 'vitest'
import { chainTo, importsOf, readSources, staticClosure, type SourceFile } from './sources.ts'

const files = readSources('src').filter(({ isTest }) => !isTest)
const own = files.filter(({ path }) => path.startsWith('src/client/'))

/** Names that Node has and a browser has not. */
const ofNode = /\b(?:Buffer|process|require|__dirname|__filename|setImmediate|clearImmediate|global)\b/

/** What its types need too: a package without Node's types must be able to read its declarations. */
function typeClosure(start: string): ReadonlyMap<string, string> {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const by = new Map<string, string>([[start, '']])
  for (const path of by.keys()) {
    const file = byPath.get(path)
    for (const { kind, target } of file === undefined ? [] : importsOf(file))
      if (kind !== 'dynamic' && (path.startsWith('src/client/') || kind === 'type') && !by.has(target))
        by.set(target, path)
  }
  return by
}

const usesNode = ({ code }: SourceFile): boolean => ofNode.test(code)

describe('client', () => {
  it('loads nothing but itself, the contract and the errors: no package and nothing of Node', () => {
    const loaded = staticClosure(files, 'src/client/index.ts')
    const foreign = [...loaded.keys()].filter((path) => !/^src\/(?:client|contract|errors)\//.test(path))
    expect(foreign.map((path) => chainTo(loaded, path))).toEqual([])
    expect(own.flatMap((file) => importsOf(file).filter(({ kind }) => kind === 'dynamic'))).toEqual([])
  })

  it('names nothing that only Node has', () => {
    expect(own.filter(usesNode).map(({ path }) => path)).toEqual([])
  })

  it('the checks above find Node where it is', () => {
    expect(files.some((file) => file.path === 'src/runtime/files.ts' && usesNode(file))).toBe(true)
    expect([...staticClosure(files, 'src/runtime/create.ts').keys()].some((path) => path.startsWith('node:'))).toBe(
      true,
    )
  })

  it('has types that need none of Node', () => {
    const needed = typeClosure('src/client/index.ts')
    const node = [...needed.keys()].filter((path) => path.startsWith('node:'))
    expect(node.map((path) => chainTo(needed, path))).toEqual([])
  })
})
