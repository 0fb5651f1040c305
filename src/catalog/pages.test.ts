import { mkdtempSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openPages, type Page } from './pages.ts'

let directory = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'glovebox-pages-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const read = (name: string): string => readFileSync(join(directory, name), 'utf8')
const json = (name: string): Record<string, unknown> => JSON.parse(read(name)) as Record<string, unknown>

describe('pages', () => {
  it('are written soon after a change, and not at each of many', async () => {
    let drawn = 0
    const pages = openPages({ directory, draw: () => [['count.json', { drawn: ++drawn }]] })
    pages.touch('soon')
    await expect.poll(() => json('now/count.json')['drawn']).toBe(1)
    for (let change = 0; change < 50; change += 1) pages.touch('soon')
    await expect.poll(() => json('now/count.json')['drawn']).toBe(2)
    await delay(50)
    expect(drawn).toBe(2)
    pages.close()
  })

  it('are written at once for whoever asks, if anything is outstanding', () => {
    let drawn = 0
    const pages = openPages({ directory, draw: () => [['count.json', { drawn: ++drawn }]] })
    pages.settle()
    expect(drawn).toBe(0)
    pages.touch('late')
    pages.settle()
    pages.settle()
    expect([drawn, json('now/count.json')['drawn']]).toEqual([1, 1])
    pages.close()
  })

  it('of one writing are all of one moment, whichever pages were put between', () => {
    let at = 0
    const draw = (): readonly Page[] => [
      ['one', `${at}`],
      ['same', 'same'],
      ['other', Buffer.from(`${at}`)],
    ]
    const pages = openPages({ directory, draw })
    for (at = 1; at < 12; at += 1) {
      for (let put = 0; put < at % 3; put += 1) pages.put('fixed.json', { at })
      // What a reader has opened stays what it was.
      const before = at === 1 ? undefined : statSync(join(directory, 'now/one')).ino
      pages.touch('soon')
      pages.settle()
      expect([read('now/one'), read('now/other'), read('now/same')]).toEqual([`${at}`, `${at}`, 'same'])
      expect(statSync(join(directory, 'now/one')).ino).not.toBe(before)
    }
    pages.close()
  })

  it('bear a revision that rises with their content', () => {
    const pages = openPages({ directory, draw: () => [['moving.json', { now: performance.now() }]] })
    pages.put('fixed.json', { a: 1 })
    expect(json('fixed.json')).toEqual({ catalogVersion: 1, revision: 1, a: 1 })
    const seen = [1, 2, 3].map(() => {
      pages.touch('soon')
      pages.settle()
      return json('now/moving.json')['revision'] as number
    })
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    expect(new Set(seen).size).toBe(3)
    pages.put('fixed.json', { a: 2 })
    expect(json('fixed.json')['revision']).toBeGreaterThan(seen.at(-1) as number)
    expect(pages.read().get('fixed.json')).toEqual(json('fixed.json'))
    pages.close()
  })

  it('take the place of what an earlier opening left', () => {
    mkdirSync(join(directory, '.7'), { recursive: true })
    writeFileSync(join(directory, '.7/old'), '')
    writeFileSync(join(directory, 'stale.json'), '{}')
    openPages({ directory, draw: () => [] }).close()
    expect(readdirSync(directory).toSorted()).toEqual(['.1', '.2'])
  })

  it('can be read by everybody, whatever the mask of the process', () => {
    const pages = openPages({ directory, draw: () => [['page', 'x']] })
    pages.touch('soon')
    pages.settle()
    expect(statSync(join(directory, 'now/page')).mode & 0o777).toBe(0o644)
    expect(statSync(directory).mode & 0o777).toBe(0o755)
    pages.close()
  })

  it('that cannot be written disturb nobody, and are written when they can', () => {
    let content = 'first'
    const pages = openPages({ directory, draw: () => [['page', content]] })
    rmSync(directory, { recursive: true })
    pages.touch('soon')
    pages.settle()
    for (const name of ['', '.1', '.2']) mkdirSync(join(directory, name))
    content = 'second'
    pages.touch('soon')
    pages.settle()
    expect(read('now/page')).toBe('second')
    pages.close()
  })
})
