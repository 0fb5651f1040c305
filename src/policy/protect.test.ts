import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planProtection, type SeenEntry } from './protect-plan.ts'
import { builtInProtectedNames, builtInProtections, isAtOrBelow } from './protect.ts'

const plan = (names: readonly string[], disk: Readonly<Record<string, SeenEntry>> = {}) =>
  planProtection({ names, entryAt: (path) => disk[path] ?? 'missing' })

describe('protected names', () => {
  it('are normalised, unique, and each has its reason', () => {
    expect(new Set(builtInProtectedNames).size).toBe(builtInProtectedNames.length)
    for (const { name, reason } of builtInProtections) {
      expect(name.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..')).toBe(true)
      expect(reason.length).toBeGreaterThan(10)
    }
  })

  it('hold what a host program obeys', () => {
    expect(builtInProtectedNames).toEqual(
      expect.arrayContaining([
        '.git/hooks',
        '.git/config',
        '.bashrc',
        '.zshenv',
        '.vscode',
        '.claude',
        '.mcp.json',
        '.envrc',
        '.glovebox',
        'glovebox.yaml',
      ]),
    )
  })

  it('leave alone what an agent must edit', () => {
    for (const name of [
      'package.json',
      '.npmrc',
      '.env',
      'Makefile',
      '.github',
      '.config',
      '.git',
      '.git/objects',
      'AGENTS.md',
    ]) {
      expect(builtInProtectedNames.some((known) => isAtOrBelow(name, known))).toBe(false)
    }
  })
})

describe('the plan of protection', () => {
  it('seals what exists and pins its parents, parents first', () => {
    expect(plan(['.git/hooks'], { '.git': 'directory', '.git/hooks': 'directory' })).toEqual([
      { do: 'pin', path: '.git' },
      { do: 'seal', path: '.git/hooks' },
    ])
  })

  it('masks the first missing part, once, as a directory', () => {
    expect(plan(['.git/hooks', '.git/config'])).toEqual([
      { do: 'placeholder', path: '.git', as: 'directory', content: '' },
    ])
  })

  it('knows of each built-in name whether a file or a directory stands in for it', () => {
    expect(plan(['.vscode', '.bashrc', 'own'])).toEqual([
      { do: 'placeholder', path: '.bashrc', as: 'file', content: '' },
      { do: 'placeholder', path: '.vscode', as: 'directory', content: '' },
      { do: 'placeholder', path: 'own', as: 'file', content: '' },
    ])
  })

  it('a stand-in for .git/commondir says "here", because git stops at an empty one', () => {
    expect(plan(['.git/commondir'], { '.git': 'directory' })).toContainEqual({
      do: 'placeholder',
      path: '.git/commondir',
      as: 'file',
      content: '.\n',
    })
  })

  it('seals a file that stands where a directory was expected: .git of a linked worktree', () => {
    expect(plan(['.git/hooks', '.git/config'], { '.git': 'file' })).toEqual([{ do: 'seal', path: '.git' }])
  })

  it('stops at a symlink and leaves it to the mechanism', () => {
    expect(plan(['.git/hooks'], { '.git': 'directory', '.git/hooks': 'symlink' })).toEqual([
      { do: 'pin', path: '.git' },
      { do: 'link', path: '.git/hooks', name: '.git/hooks' },
    ])
    expect(plan(['.git/hooks'], { '.git': 'symlink' })).toEqual([{ do: 'link', path: '.git', name: '.git/hooks' }])
  })

  it('a sealed parent makes what is below it needless', () => {
    expect(plan(['.git/hooks', '.git'], { '.git': 'directory', '.git/hooks': 'directory' })).toEqual([
      { do: 'seal', path: '.git' },
    ])
  })

  it('for all disks every name is covered, each path is laid once, and parents come first', () => {
    const segment = fc.constantFrom('a', 'b', 'c')
    const name = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('/'))
    const seen = fc.constantFrom<SeenEntry>(
      'directory',
      'directory',
      'directory',
      'file',
      'missing',
      'symlink',
      'other',
    )
    fc.assert(
      fc.property(
        fc.array(name, { minLength: 1, maxLength: 6 }),
        fc.dictionary(name, seen, { maxKeys: 12 }),
        (names, disk) => {
          const steps = plan(names, disk)
          const paths = steps.map(({ path }) => path)
          expect(new Set(paths).size).toBe(paths.length)
          for (const wanted of names) {
            expect(steps.some((step) => step.do !== 'pin' && isAtOrBelow(wanted, step.path))).toBe(true)
          }
          steps.forEach((step, index) => {
            expect(paths.slice(index + 1).some((later) => isAtOrBelow(step.path, later))).toBe(false)
            if (step.do !== 'pin') expect(paths.some((other) => other.startsWith(`${step.path}/`))).toBe(false)
          })
        },
      ),
      { numRuns: 500 },
    )
  })
})
