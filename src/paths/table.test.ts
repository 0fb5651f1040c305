import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HostPath, Mount } from '../contract/mount.ts'
import { isWithin, parseGuestPath } from './guest.ts'
import { mountTable } from './table.ts'

const at = (path: string): Mount => ({
  guestPath: parseGuestPath(path),
  hostPath: `/host${path}` as HostPath,
  mode: 'rw',
})
const served = (mounts: readonly Mount[], path: string): string | undefined =>
  mountTable(mounts).locate(parseGuestPath(path))?.mount.guestPath

describe('mountTable', () => {
  it('gives a path to the longest prefix', () => {
    const mounts = [at('/workspace'), at('/workspace/agent/notes'), at('/workspace/agent')]
    expect(served(mounts, '/workspace/agent/notes/x')).toBe('/workspace/agent/notes')
    expect(served(mounts, '/workspace/agent/x')).toBe('/workspace/agent')
    expect(served(mounts, '/workspace/x')).toBe('/workspace')
    expect(served(mounts, '/elsewhere')).toBeUndefined()
  })

  it('does not take /mnt/skills for a prefix of /mnt/skills-extra', () => {
    expect(served([at('/mnt/skills')], '/mnt/skills-extra/a')).toBeUndefined()
    expect(served([at('/mnt/skills'), at('/mnt/skills-extra')], '/mnt/skills-extra/a')).toBe('/mnt/skills-extra')
  })

  it('names the segments below the root of the mount', () => {
    expect(mountTable([at('/a/b')]).locate(parseGuestPath('/a/b/c/d'))?.segments).toEqual(['c', 'd'])
    expect(mountTable([at('/')]).locate(parseGuestPath('/c'))?.segments).toEqual(['c'])
  })

  it('names mounts, and directories that lead to mounts, below a path', () => {
    const table = mountTable([at('/workspace'), at('/mnt/user/uploads'), at('/mnt/user/outputs'), at('/workspace/a/b')])
    expect(table.nestedNames(parseGuestPath('/'))).toEqual(['mnt', 'workspace'])
    expect(table.nestedNames(parseGuestPath('/mnt/user'))).toEqual(['outputs', 'uploads'])
    expect(table.nestedNames(parseGuestPath('/workspace'))).toEqual(['a'])
    expect(table.nestedNames(parseGuestPath('/workspace/a/b'))).toEqual([])
    expect(table.nestedNames(parseGuestPath('/mn'))).toEqual([])
  })

  it('refuses a guest path that is mounted twice', () => {
    expect(() => mountTable([at('/a'), at('/a')])).toThrow('Cannot mount /a: it is mounted twice')
  })

  it('always locates inside the mount it names, and no longer mount would fit', () => {
    const names = fc
      .array(fc.constantFrom('a', 'b', 'ab', 'a-b'), { maxLength: 4 })
      .map((parts) => `/${parts.join('/')}`)
    fc.assert(
      fc.property(fc.uniqueArray(names, { maxLength: 6 }), names, (roots, text) => {
        const path = parseGuestPath(text)
        const fitting = roots
          .filter((root) => isWithin(path, parseGuestPath(root)))
          .toSorted((a, b) => b.length - a.length)
        expect(served(roots.map(at), text)).toBe(fitting[0])
      }),
    )
  })
})
