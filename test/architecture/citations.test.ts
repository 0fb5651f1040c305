// Comments that promise a proof: `SECURITY:` names the test that shows the defence, `Law:` is proved in the same words.
import { describe, expect, it } from 'vitest'
import { readSources, type SourceFile } from './sources.ts'
import { sentencesOf, testSources } from './titles.ts'

interface Citation {
  readonly place: string
  readonly area: string
  readonly title: string
}

const source = readSources('src').filter(({ isTest, path }) => !isTest && !path.startsWith('src/testing/'))
const sentences = sentencesOf(testSources())

interface Defence {
  readonly place: string
  readonly text: string
  readonly citations: readonly Citation[]
}

const defences: readonly Defence[] = source.flatMap((file) =>
  file.comments.flatMap(({ line, text }) => {
    const [, ...parts] = text.split('SECURITY:')
    const place = `${file.path}:${line}`
    return parts.map((part) => ({
      place,
      text: part.trim(),
      citations: [...citationsIn(place, part), ...citationBelow(file, place, line)],
    }))
  }),
)

function citationsIn(place: string, text: string): readonly Citation[] {
  const found = text.matchAll(/\b((?:test|src)\/[\w./-]+): "([^"]+)"/g)
  return [...found].map(([, area = '', title = '']) => ({ place, area, title }))
}

/** A rule of the system-call filter is data, and names its test in a field of its own. */
function citationBelow(file: SourceFile, place: string, line: number): readonly Citation[] {
  if (!file.path.startsWith('src/backends/bwrap/seccomp/rules/')) return []
  const below = file.code.split('\n').slice(line).join('\n')
  const index = /\btest: «(\d+)»/.exec(below)?.[1]
  return index === undefined ? [] : [{ place, area: 'test/attacks/seccomp', title: file.strings[Number(index)] ?? '' }]
}

const laws = source.flatMap(({ path, comments }) =>
  comments.flatMap(({ text }) => [...text.matchAll(/\bLaw: (.+?)\.?$/g)].map(([, law = '']) => ({ path, law }))),
)

/** No backend keeps records, so their laws are no cases of the conformance suite. */
const ofRecords = /^src\/contract\/(?:run|event|artifact|recorded-action|executor|fork|exec-record)\.ts$/
/** No backend keeps rows either: the store has a suite of its own. */
const ofStore = 'src/contract/store.ts'
const ofKeys = 'src/contract/idempotency.ts'
/** Nor leases, which have one suite for files and PostgreSQL; and a provider stands above backends, with cases of its own. */
const ofLeases = 'src/contract/lease.ts'
const ofProvider = 'src/contract/provider.ts'
const recordingRooms = ['src/runs/', 'src/runtime/runs/', 'src/executors/', 'src/execs/']

describe('SECURITY comments', () => {
  it('each names the attack test that proves it', () => {
    const silent = defences.filter(({ citations }) => citations.length === 0)
    expect(silent.map(({ place, text }) => `${place} ${text}`)).toEqual([])
  })

  it('each names a test that exists', () => {
    const cited = defences.flatMap(({ citations }) => citations)
    expect(cited.length).toBeGreaterThan(50)
    const missing = cited.filter(
      ({ area, title }) => !sentences.some((each) => each.title === title && each.path.startsWith(area)),
    )
    expect(missing.map(({ place, area, title }) => `${place} cites ${area}: "${title}"${elsewhere(title)}`)).toEqual([])
  })
})

function elsewhere(title: string): string {
  const found = sentences.find((each) => each.title === title)
  return found === undefined ? '' : ` (it is in ${found.path})`
}

/** Whose laws are cases of a suite of their own, and where that lies. */
const withSuites: ReadonlyMap<string, string> = new Map([
  [ofStore, 'test/conformance/store/'],
  [ofKeys, 'test/conformance/store/'],
  [ofLeases, 'test/conformance/leases/suite.ts'],
  [ofProvider, 'src/testing/provider-cases.ts'],
])

describe('laws', () => {
  it('each law of the contract is a conformance case in the same words', () => {
    const cases = new Set(
      sentences.filter(({ path }) => path.startsWith('src/testing/cases/')).map(({ title }) => title),
    )
    const ofContract = laws.filter(
      ({ path }) => path.startsWith('src/contract/') && !ofRecords.test(path) && !withSuites.has(path),
    )
    expect(ofContract.length).toBeGreaterThanOrEqual(10)
    expect(ofContract.filter(({ law }) => !cases.has(law))).toEqual([])
  })

  it('each law of another room is a test in the same words', () => {
    const known = new Set(sentences.map(({ title }) => title))
    expect(laws.filter(({ path, law }) => !path.startsWith('src/contract/') && !known.has(law))).toEqual([])
  })

  it.each([
    ['the store', ofStore, 10],
    ['idempotency keys', ofKeys, 3],
    ['leases', ofLeases, 7],
    ['a provider', ofProvider, 10],
  ])(
    'each law of %s is a case of its suite, which every kind of them passes, in the same words',
    (_of, file, count) => {
      const place = withSuites.get(file) ?? 'nowhere'
      const known = new Set(sentences.filter(({ path }) => path.startsWith(place)).map(({ title }) => title))
      const theirs = laws.filter(({ path }) => path === file)
      expect(theirs.length).toBeGreaterThanOrEqual(count)
      expect(theirs.filter(({ law }) => !known.has(law))).toEqual([])
    },
  )

  it('each law of the records is a test of the rooms that write them, in the same words', () => {
    const isTheirs = ({ path }: { readonly path: string }): boolean =>
      recordingRooms.some((room) => path.startsWith(room))
    const known = new Set(sentences.filter(isTheirs).map(({ title }) => title))
    const ofTheRecords = laws.filter(({ path }) => ofRecords.test(path))
    expect(ofTheRecords.length).toBeGreaterThanOrEqual(8)
    expect(ofTheRecords.filter(({ law }) => !known.has(law))).toEqual([])
  })
})
