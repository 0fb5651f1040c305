import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { GuestPath, HostPath, Mount, MountMode } from '../../contract/mount.ts'
import { isCatalogPath, placeCatalog } from './place.ts'

let place = ''
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'glovebox-place-'))
  mkdirSync(join(place, 'project'))
})
afterEach(() => {
  chmodSync(join(place, 'project'), 0o755)
  rmSync(place, { recursive: true, force: true })
})

const mounted = (mode: MountMode, guestPath = '/workspace'): Mount => ({
  guestPath: guestPath as GuestPath,
  hostPath: join(place, 'project') as HostPath,
  mode,
})
const placed = (...mounts: readonly Mount[]): string => placeCatalog(mounts, place as HostPath).guestPath

describe('the place of a catalog', () => {
  it('is the workspace, whatever is mounted there for writing, and where nothing is', () => {
    expect(placed(mounted('rw'))).toBe('/workspace/.glovebox')
    expect(placed(mounted('rw', '/data'))).toBe('/workspace/.glovebox')
    expect(placed()).toBe('/workspace/.glovebox')
    expect(existsSync(join(place, 'catalog'))).toBe(true)
  })

  it('is the workspace when that is read-only and can take a mount point or has one', () => {
    expect(placed(mounted('ro'))).toBe('/workspace/.glovebox')
    mkdirSync(join(place, 'project/.glovebox'))
    expect(placed(mounted('ro'))).toBe('/workspace/.glovebox')
  })

  it.skipIf(process.getuid?.() === 0)('is apart when nobody may make a mount point in the workspace', () => {
    chmodSync(join(place, 'project'), 0o555)
    expect(placed(mounted('ro'))).toBe('/.glovebox/catalog')
  })

  it('is apart when the workspace is a vault', () => {
    expect(placed(mounted('vault'))).toBe('/.glovebox/catalog')
  })

  it('is refused where the project has something else under the name', () => {
    writeFileSync(join(place, 'project/.glovebox'), '')
    expect(() => placed(mounted('ro'))).toThrow(expect.objectContaining({ code: 'LINK_REFUSED' }) as Error)
    rmSync(join(place, 'project/.glovebox'))
    symlinkSync('/etc', join(place, 'project/.glovebox'))
    expect(() => placed(mounted('ro'))).toThrow('not a directory')
  })

  it('is nobody else’s', () => {
    const taken = (path: string): boolean => isCatalogPath(path as GuestPath)
    expect(['/workspace/.glovebox', '/workspace/.glovebox/now'].every(taken)).toBe(true)
    expect(['/workspace', '/workspace/.gloveboxes', '/x/.glovebox'].some(taken)).toBe(false)
  })
})
