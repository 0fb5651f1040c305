import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { nestedRepositories } from './nested-repositories.ts'

describe('repositories below a writable mount', () => {
  let root: string
  beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'glovebox-nested-'))))
  afterEach(() => rmSync(root, { recursive: true, force: true }))
  const make = (...paths: string[]): void => paths.forEach((path) => mkdirSync(join(root, path), { recursive: true }))

  it('are found down to the third level, and the root itself is not one of them', () => {
    make('.git', 'a/.git', 'b/c/d/.git', 'b/c/d/e/.git')
    expect(nestedRepositories(root).found.toSorted()).toEqual(['a', 'b/c/d'])
  })

  it('are not looked for in directories of packages, nor behind links', () => {
    make('node_modules/p/.git', 'real/.git')
    symlinkSync(join(root, 'real'), join(root, 'link'))
    expect(nestedRepositories(root).found).toEqual(['real'])
  })

  it('are looked for in 400 directories at most, so that the look does not grow with the workspace', () => {
    make('one/.git')
    expect(nestedRepositories(root).found).toEqual(['one'])
    // A chain of siblings in each of which the look goes on: far more than it may visit.
    make(...Array.from({ length: 21 }, (_, a) => Array.from({ length: 21 }, (_, b) => `d${a}/s${b}/.git`)).flat())
    const found = nestedRepositories(root).found.length
    expect(found).toBeGreaterThan(100)
    expect(found).toBeLessThan(400)
  })
})
