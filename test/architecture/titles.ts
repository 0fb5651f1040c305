// The titles of tests, as they stand in the sources. A title that is made at run time is found where its words stand.
import { readSources, type SourceFile } from './sources.ts'

export interface Titled {
  readonly path: string
  readonly title: string
}

/** `it('…'`, `test('…'`, and the same behind `.skipIf(…)`, `.each(…)` and the like. */
const call = /\b(?:it|test)(?:\.\w+(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?)*\(\s*«(\d+)»/g

export function testTitles(files: readonly SourceFile[]): readonly Titled[] {
  return files.flatMap((file) =>
    [...file.code.matchAll(call)].map(([, index]) => ({ path: file.path, title: file.strings[Number(index)] ?? '' })),
  )
}

/** Every sentence that stands in a test or in what tests are made of: titles may come from a table. */
export const sentencesOf = (files: readonly SourceFile[]): readonly Titled[] =>
  files.flatMap((file) => file.strings.map((title) => ({ path: file.path, title })))

export const testSources = (): readonly SourceFile[] => [
  ...readSources('test').filter(
    ({ path }) => !path.startsWith('test/architecture/') && !path.startsWith('test/attacks/catalog'),
  ),
  ...readSources('src').filter(({ path, isTest }) => isTest || path.startsWith('src/testing/')),
]
