import { describe, expect, it } from 'vitest'
import type { HostPath, Mount, MountMode } from '../contract/mount.ts'
import { parseGuestPath } from './guest.ts'
import { compileRules, ruleAt, ruleBelow } from './rules.ts'

const at = (path: string, mode: MountMode): Mount => ({
  guestPath: parseGuestPath(path),
  hostPath: path as HostPath,
  mode,
})
const rules = compileRules({
  mounts: [at('/workspace', 'rw'), at('/workspace/sub', 'rw'), at('/runtime', 'ro')],
  protect: ['.git/hooks', '.bashrc'],
  denyRead: ['/workspace/private/'],
})
const protectedAt = (path: string): string | undefined => ruleAt(rules.protected, parseGuestPath(path))?.written

describe('protected names', () => {
  it.each([
    '/workspace/.bashrc',
    '/workspace/.git/hooks',
    '/workspace/.git/hooks/pre-commit',
    '/workspace/.GIT/Hooks/x',
    '/workspace/.BASHRC',
    '/workspace/.ba\u017fhrc',
    '/workspace/.g\u200cit/hooks',
    '/workspace/sub/.bashrc',
  ])('cover %s', (path) => {
    expect(protectedAt(path)).toBeDefined()
  })

  it.each([
    '/workspace/.git',
    '/workspace/.git/hooks2',
    '/workspace/deep/.bashrc',
    '/runtime/.bashrc',
    '/workspace/.bashrc2',
  ])('do not cover %s', (path) => {
    expect(protectedAt(path)).toBeUndefined()
  })

  it('are found below each of their ancestors, in any case', () => {
    expect(ruleBelow(rules.protected, parseGuestPath('/workspace/.Git'))?.written).toBe('.git/hooks')
    expect(ruleBelow(rules.protected, parseGuestPath('/workspace/.git/hooks'))).toBeUndefined()
  })

  it.each(['', '.', '/etc', '../x', 'a/../../b'])('cannot be %j', (name) => {
    expect(() => compileRules({ mounts: [], protect: [name], denyRead: [] })).toThrow('Cannot protect')
  })
})

describe('hidden paths', () => {
  it('cover what lies below them', () => {
    expect(ruleAt(rules.denied, parseGuestPath('/workspace/private/key'))).toBeDefined()
    expect(ruleAt(rules.denied, parseGuestPath('/workspace/private2'))).toBeUndefined()
  })

  it('must be absolute', () => {
    expect(() => compileRules({ mounts: [], protect: [], denyRead: ['private'] })).toThrow('not absolute')
  })
})
