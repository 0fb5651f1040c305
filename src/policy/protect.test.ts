import { describe, expect, it } from 'vitest'
import { builtInProtectedNames, builtInProtections, isAtOrBelow } from './protect.ts'

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
