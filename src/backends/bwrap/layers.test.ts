import { describe, expect, it } from 'vitest'
import type { SandboxSpec } from '../../contract/backend.ts'
import type { GuestPath, HostPath, Mount } from '../../contract/mount.ts'
import type { Launcher } from './launcher/launcher.ts'
import { commonDirectory } from './launcher/layers.ts'
import { mapOf } from './launcher/layer-owners.ts'
import { openLayers } from './layers.ts'

const host = (path: string): HostPath => path as HostPath
const mount = (guestPath: string, hostPath: string, over?: Mount['over']): Mount => ({
  guestPath: guestPath as GuestPath,
  hostPath: host(hostPath),
  mode: 'rw',
  ...(over === undefined ? {} : { over }),
})
const specOf = (...mounts: readonly Mount[]): SandboxSpec =>
  ({ mounts, home: { guestPath: '/home/agent' as GuestPath, hostPath: host('/h') } }) as unknown as SandboxSpec
const launcher = {} as Launcher
const over = { lower: [host('/runs/a/workspace')], work: host('/runs/b/archive/overlay-work') }
const layered = mount('/workspace', '/runs/b/workspace', over)

describe('layers of mounts', () => {
  it('leave a spec without layers as it is', async () => {
    const spec = specOf(mount('/workspace', '/p'))
    const layers = await openLayers(spec, launcher)
    expect(layers.spec).toBe(spec)
    expect(layers.staged('/p')).toBeUndefined()
  })

  it('are refused where nobody can lay them', async () => {
    await expect(openLayers(specOf(layered), launcher)).rejects.toMatchObject({ code: 'BOUNDARY_FAILED' })
  })

  it.each([
    '/runs/a/workspace',
    '/runs/a/workspace/d',
    '/runs/a',
    '/runs',
    '/',
    '/runs/b/archive',
    '/runs/b/workspace',
  ])('are refused beside a mount that shows one of them (%s)', async (path) => {
    const spec = specOf(layered, mount('/data', path))
    await expect(openLayers(spec, launcher)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('a name that only begins like a layer is no layer', async () => {
    const spec = specOf(layered, mount('/data', '/runs/a/workspace2'))
    await expect(openLayers(spec, launcher)).rejects.toMatchObject({ code: 'BOUNDARY_FAILED' })
  })
})

describe('owners of layers', () => {
  it('the owner on disk is the guest, and root is somebody too', () => {
    expect(mapOf(0, 1900)).toBe('0 1900 1\n1900 0 1\n')
    expect(mapOf(1000, 1900)).toBe('1000 1900 1\n0 0 1\n')
  })
})

describe('the directory that holds both', () => {
  it('is the nearest one', () => {
    expect(commonDirectory('/runs/b/workspace', '/runs/b/archive/work')).toBe('/runs/b')
    expect(commonDirectory('/runs/b/workspace', '/runs/bc/work')).toBe('/runs')
    expect(commonDirectory('/a/b', '/c/d')).toBe('/')
  })
})
