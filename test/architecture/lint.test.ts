import { describe, expect, it } from 'vitest'
import { hashesOf, toLint } from '../../script/lint-reach.mjs'

const sources = {
  'src/a.ts': "import { b } from './deep/b.ts'\n",
  'src/deep/b.ts': "export { c as b } from '../c.ts'\n",
  'src/c.ts': 'export const c = 1\n',
  'src/lazy.ts': "const load = () => import('./c.ts')\n",
  'src/alone.ts': "import { readFileSync } from 'node:fs'\n",
}
const linted = (change: Readonly<Record<string, string | undefined>>): readonly string[] => {
  const before = hashesOf(new Map(Object.entries(sources)))
  const after = Object.entries({ ...sources, ...change }).flatMap(([path, text]) =>
    text === undefined ? [] : [[path, text] as const],
  )
  return toLint(before, new Map(after)).toSorted()
}

describe('the lint of what changed', () => {
  it('looks at nothing where nothing changed', () => expect(linted({})).toEqual([]))

  it('looks at what changed, and at whatever imports it, however far away', () => {
    expect(linted({ 'src/alone.ts': 'export {}\n' })).toEqual(['src/alone.ts'])
    expect(linted({ 'src/c.ts': "export const c = 'c'\n" })).toEqual([
      'src/a.ts',
      'src/c.ts',
      'src/deep/b.ts',
      'src/lazy.ts',
    ])
  })

  it('looks at a new file, and at what imports one that is gone', () => {
    expect(linted({ 'src/new.ts': 'export {}\n' })).toEqual(['src/new.ts'])
    expect(linted({ 'src/deep/b.ts': undefined })).toEqual(['src/a.ts'])
  })

  it('ends where files import each other', () => {
    expect(linted({ 'src/c.ts': "import './a.ts'\n" })).toEqual([
      'src/a.ts',
      'src/c.ts',
      'src/deep/b.ts',
      'src/lazy.ts',
    ])
  })
})
