// Which file of attacks shows what, and against what it runs. For the tests that hold the catalog to it.
import { reach, type Reach } from '../attacks/reach.ts'
import { importsOf, readSources, type SourceFile } from './sources.ts'
import { sentencesOf, testTitles } from './titles.ts'

export interface AttackFile {
  readonly path: string
  readonly name: string
  /** Undefined: it does not say. */
  readonly reach: Reach | undefined
  /** Of its tests. Those that are made at run time are the sentences of the tables that it imports. */
  readonly titles: ReadonlySet<string>
  /** Itself, and what it takes from test/attacks. */
  readonly sources: readonly SourceFile[]
}

/** `$title`, `%s`, `${}`: made at run time from a table. */
export const isMade = (title: string): boolean => /^(?:\$\w+|%s|\$\{\})$/.test(title)

export const attackSources = readSources('test/attacks').filter(({ path }) => !path.startsWith('test/attacks/catalog'))

const byPath = new Map(attackSources.map((file) => [file.path, file]))
const importedBy = (file: SourceFile): readonly SourceFile[] =>
  importsOf(file)
    .map(({ target }) => byPath.get(target))
    .filter((found) => found !== undefined)

function withAll(file: SourceFile, seen: Set<SourceFile> = new Set()): readonly SourceFile[] {
  if (!seen.has(file)) {
    seen.add(file)
    for (const next of importedBy(file)) withAll(next, seen)
  }
  return [...seen]
}

export const attackFiles: readonly AttackFile[] = attackSources
  .filter(({ path }) => path.endsWith('.test.ts'))
  .map((file) => {
    const name = file.path.slice('test/attacks/'.length, -'.test.ts'.length)
    const own = testTitles([file]).map(({ title }) => title)
    const made = own.some(isMade) ? sentencesOf(importedBy(file)).map(({ title }) => title) : []
    return {
      path: file.path,
      name,
      reach: Object.hasOwn(reach, name) ? reach[name] : undefined,
      titles: new Set([...own.filter((title) => !isMade(title)), ...made]),
      sources: withAll(file),
    }
  })
