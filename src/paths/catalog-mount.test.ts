import { describe, expect, it } from 'vitest'
import type { SandboxSpec } from '../contract/backend.ts'
import type { GuestPath, HostPath, Mount } from '../contract/mount.ts'
import { withCatalog } from './catalog-mount.ts'
import { mountTable } from './table.ts'

const mount = (guestPath: string, hostPath: string): Mount => ({
  guestPath: guestPath as GuestPath,
  hostPath: hostPath as HostPath,
  mode: 'rw',
})
const spec = { mounts: [mount('/workspace', '/project')] } as unknown as SandboxSpec
const catalog = { guestPath: '/workspace/.glovebox' as GuestPath, hostPath: '/state/catalog' as HostPath }

describe('a spec with a catalog', () => {
  it('has one more mount, read-only, which serves its path', () => {
    const shown = withCatalog({ ...spec, catalog })
    expect(shown.mounts).toEqual([...spec.mounts, { ...catalog, mode: 'ro' }])
    expect(mountTable(shown.mounts).locate('/workspace/.glovebox/x' as GuestPath)?.mount.mode).toBe('ro')
    // Laid twice it would hide itself.
    expect(withCatalog(shown)).toBe(shown)
  })

  it('is left as it is where there is none', () => {
    expect(withCatalog(spec)).toBe(spec)
  })
})
