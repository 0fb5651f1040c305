// The catalog of attacks feeds SECURITY.md, so a row without a test would be a claim, and a test without a row a secret.
import { describe, expect, it } from 'vitest'
import { catalog } from '../attacks/catalog.ts'
import { onDocker } from '../attacks/catalog/docker.ts'
import { onGvisor } from '../attacks/catalog/docker-runsc.ts'
import { readSources } from './sources.ts'
import { sentencesOf, testTitles } from './titles.ts'

const files = readSources('test/attacks').filter(({ path }) => !path.startsWith('test/attacks/catalog'))
const sentences = new Set(sentencesOf(files).map(({ title }) => title))
const titles = new Set(catalog.map(({ title }) => title))

/** Shows that a probe works, or that ordinary programs do; no attack, so no row. */
const isControl = (title: string): boolean => /\bcontrol\b/.test(title)
const isOrdinary = (path: string): boolean => path.endsWith('-ordinary.test.ts')
/** `$title`, `%s`, `${}`: made at run time from a table, whose sentences are checked as rows. */
const isMade = (title: string): boolean => /^(?:\$\w+|%s|\$\{\})$/.test(title)

describe('the catalog of attacks', () => {
  it('has rows, each under a title of its own', () => {
    expect(catalog.length).toBeGreaterThan(50)
    expect(titles.size).toBe(catalog.length)
  })

  it('has a test of the same title for each row that claims to be blocked', () => {
    const claimed = catalog.filter((row) => [row.bwrap, row.local, row.docker, row.runsc].includes('blocked'))
    expect(claimed.filter(({ title }) => !sentences.has(title)).map(({ area, title }) => `${area}: ${title}`)).toEqual(
      [],
    )
  })

  it('has a row for each attack test', () => {
    const tests = testTitles(files).filter(
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
