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

describe('laws', () => {
  it('each law of the contract is a conformance case in the same words', () => {
    const cases = new Set(
      sentences.filter(({ path }) => path.startsWith('src/testing/cases/')).map(({ title }) => title),
    )
    const ofContract = laws.filter(
      ({ path }) => path.startsWith('src/contract/') && !ofRecords.test(path) && path !== ofStore,
    )
    expect(ofContract.length).toBeGreaterThanOrEqual(10)
    expect(ofContract.filter(({ law }) => !cases.has(law))).toEqual([])
  })

  it('each law of another room is a test in the same words', () => {
    const known = new Set(sentences.map(({ title }) => title))
    expect(laws.filter(({ path, law }) => !path.startsWith('src/contract/') && !known.has(law))).toEqual([])
  })

  it('each law of the store is a case of the suite that both engines pass, in the same words', () => {
    const known = new Set(
      sentences.filter(({ path }) => path.startsWith('test/conformance/store/')).map(({ title }) => title),
    )
    const ofTheStore = laws.filter(({ path }) => path === ofStore)
    expect(ofTheStore.length).toBeGreaterThanOrEqual(10)
    expect(ofTheStore.filter(({ law }) => !known.has(law))).toEqual([])
  })

  it('each law of the records is a test of the rooms that write them, in the same words', () => {
    const isTheirs = ({ path }: { readonly path: string }): boolean =>
      recordingRooms.some((room) => path.startsWith(room))
    const known = new Set(sentences.filter(isTheirs).map(({ title }) => title))
    const ofTheRecords = laws.filter(({ path }) => ofRecords.test(path))
    expect(ofTheRecords.length).toBeGreaterThanOrEqual(8)
    expect(ofTheRecords.filter(({ law }) => !known.has(law))).toEqual([])
  })
})
