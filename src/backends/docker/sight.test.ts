import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mark } from './keeper.ts'
import { keeperSight, placeElsewhere } from './sight.ts'

describe('what a keeper sees', () => {
  let place: string
  const names = ["it's", ' two  words ', '$(x) `y` *', '-n', 'ünï', 'a\nb', '\\134', '%s', 'plain']
  beforeAll(() => {
    place = mkdtempSync(join(tmpdir(), 'glovebox-sight-'))
    for (const name of names) mkdirSync(join(place, name, 'below'), { recursive: true })
  })
  afterAll(() => rmSync(place, { recursive: true }))

  const inodeOf = (path: string): bigint => statSync(path, { bigint: true }).ino
  const meant = (...paths: readonly string[]) => new Map(paths.map((path) => [path, inodeOf(path)]))
  /** As the keeper says it, with the mark taken off. */
  const said = (inodes: ReadonlyMap<string, bigint>): string => {
    const lines = [`GLOVEBOX_KEEPER_LINE_BREAK='\n'`, `${mark}=m`, `(${keeperSight(inodes).join('; ')}) || exit 0`]
    const input = [...lines, 'echo "m ready"'].join('\n')
    return execFileSync('/bin/sh', ['-c', input], { encoding: 'latin1' }).replace(/^m /, '').trim()
  }

  it('is what was meant, whatever the names are', () => {
    expect(said(meant(...names.map((name) => join(place, name))))).toBe('ready')
  })

  it.each(names)('is told by its place where it is something else: %j', (name) => {
    const path = join(place, name)
    const inodes = new Map(meant(...names.map((other) => join(place, other)))).set(path, 1n)
    expect(placeElsewhere(said(inodes))).toBe(path.replaceAll('\n', '\\n').trim())
    expect(said(new Map(inodes).set(path, inodeOf(path)))).toBe('ready')
  })

  it('is told by its place where nothing is there', () => {
    const missing = join(place, 'missing')
    expect(placeElsewhere(said(new Map([[missing, 1n]])))).toBe(missing)
  })

  it.each(names)('is told where the right file lies below a mount and is none itself: %j', (name) => {
    const [path, below] = [join(place, name), join(place, name, 'below')]
    expect(placeElsewhere(said(meant(path, below)))).toBe(below.replaceAll('\n', '\\n'))
  })

  it('is no more than a ready keeper, where it has said nothing', () => {
    expect(placeElsewhere('ready 0')).toBeUndefined()
    expect(placeElsewhere(undefined)).toBeUndefined()
  })
})
