// The catalog of attacks feeds SECURITY.md, so a row without a test would be a claim, a test without a row a secret, and a row that says of a
// backend what its test never tried there a guess.
import { describe, expect, it } from 'vitest'
import { catalog, type WholeRow } from '../attacks/catalog.ts'
import { onDocker } from '../attacks/catalog/docker.ts'
import { onGvisor } from '../attacks/catalog/docker-runsc.ts'
import { reach, type Reach } from '../attacks/reach.ts'
import { attackFiles, attackSources, isMade } from './attack-tests.ts'
import { namesOwnBackend, startsSandbox } from './attacked-backend.ts'
import { sentencesOf, testTitles } from './titles.ts'

const sentences = new Set(sentencesOf(attackSources).map(({ title }) => title))
const titles = new Set(catalog.map(({ title }) => title))

/** Shows that a probe works, or that ordinary programs do; no attack, so no row. */
const isControl = (title: string): boolean => /\bcontrol\b/.test(title)
const isOrdinary = (path: string): boolean => path.endsWith('-ordinary.test.ts')

/** Whether a test of this row runs in a file with one of these reaches. */
const isTriedIn =
  (...reaches: readonly Reach[]) =>
  ({ title }: WholeRow): boolean =>
    attackFiles.some((file) => file.reach !== undefined && reaches.includes(file.reach) && file.titles.has(title))
const nameOf = ({ area, title }: WholeRow): string => `${area}: ${title}`

describe('the catalog of attacks', () => {
  it('has rows, each under a title of its own', () => {
    expect(catalog.length).toBeGreaterThan(50)
    expect(titles.size).toBe(catalog.length)
  })

  it('has a test of the same title for each row that claims to be blocked', () => {
    const claimed = catalog.filter((row) => [row.bwrap, row.local, row.docker, row.runsc].includes('blocked'))
    expect(claimed.filter(({ title }) => !sentences.has(title)).map(nameOf)).toEqual([])
  })

  it('has a row for each attack test', () => {
    const tests = testTitles(attackSources).filter(
      ({ path, title }) => !isControl(title) && !isOrdinary(path) && !isMade(title),
    )
    expect(tests.filter(({ title }) => !titles.has(title)).map(({ path, title }) => `${path}: ${title}`)).toEqual([])
  })

  it('says why where bwrap is not a boundary', () => {
    expect(
      catalog.filter(({ bwrap, why }) => bwrap === 'not a boundary' && (why ?? '') === '').map(({ title }) => title),
    ).toEqual([])
  })

  it('declares another outcome on docker or gVisor only for attacks that it knows', () => {
    const declared = [...Object.keys(onDocker), ...Object.keys(onGvisor)]
    expect(declared.filter((title) => !titles.has(title))).toEqual([])
  })
})

describe('what the catalog says of a backend was tried there', () => {
  it('each file of attacks says what it runs against', () => {
    expect(attackFiles.filter((file) => file.reach === undefined).map(({ path }) => path)).toEqual([])
    const names = new Set(attackFiles.map(({ name }) => name))
    expect(Object.keys(reach).filter((name) => !names.has(name))).toEqual([])
  })

  it('a row is blocked on bwrap, docker or gVisor only if its test runs there, or if no backend has a part in it', () => {
    const tried = {
      bwrap: isTriedIn('every backend', 'bwrap', 'host'),
      docker: isTriedIn('every backend', 'containers'),
      runsc: isTriedIn('every backend', 'containers'),
    }
    const guessed = (['bwrap', 'docker', 'runsc'] as const).flatMap((backend) =>
      catalog
        .filter((row) => row[backend] === 'blocked' && row.hostSide === undefined && !tried[backend](row))
        .map((row) => `${nameOf(row)}: no test of it runs on ${backend}; declare its outcome in catalog/docker.ts`),
    )
    expect(guessed).toEqual([])
  })

  it('no backend has a part in a row exactly where its test starts no sandbox', () => {
    const ofHost = isTriedIn('host')
    expect(catalog.filter((row) => (row.hostSide !== undefined) !== ofHost(row)).map(nameOf)).toEqual([])
    const starting = attackFiles.filter((file) => file.reach === 'host').flatMap(({ sources }) => sources)
    expect(starting.filter(startsSandbox).map(({ path }) => path)).toEqual([])
  })

  it('a file that runs on every backend names none itself', () => {
    const every = attackFiles.filter((file) => file.reach === 'every backend').flatMap(({ sources }) => sources)
    expect([...new Set(every)].flatMap(namesOwnBackend)).toEqual([])
  })

  it('an attack that cannot run here says so', () => {
    // Of the two, one demands a reason and the other takes it from the catalog.
    const tellers = new Set(['test/attacks/describe-where.ts', 'test/attacks/declared.ts'])
    const silent = attackSources.filter(
      ({ path, code }) => !tellers.has(path) && /\.(?:runIf|skipIf|skip|todo)\b/.test(code),
    )
    expect(silent.map(({ path }) => `${path}: use describeWhere, which takes a reason`)).toEqual([])
  })

  it('an outcome on docker or gVisor that is not the one of bwrap has its reason in sight', () => {
    const unexplained = catalog.filter(
      (row) =>
        (row.docker !== row.bwrap && row.bwrap !== 'does not apply' && (row.dockerWhy ?? '') === '') ||
        (row.runsc !== row.docker && (row.runscWhy ?? '') === ''),
    )
    expect(unexplained.map(nameOf)).toEqual([])
  })
})
