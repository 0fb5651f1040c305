import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { GuestPath, HostPath, Mount } from '../contract/mount.ts'
import { areStillHeld, guardsFor, placesOf, type HeldName } from './guards.ts'

const mountOf = (hostPath: string): Mount => ({
  guestPath: '/workspace' as GuestPath,
  hostPath: hostPath as HostPath,
  mode: 'rw',
})
const all = { sourceOf: (mount: Mount) => mount.hostPath, isInSight: () => true }

describe('guards', () => {
  const mount = mountOf('/h')
  const held = (name: string, kind: HeldName['kind'] = 'file'): HeldName => ({ mount, name, kind })

  it('hold a name read-only and pin what leads to it, parents first', () => {
    expect(guardsFor([held('.git/hooks', 'directory'), held('.git/config')], all)).toEqual([
      { guestPath: '/workspace/.git', source: '/h/.git', rule: 'pin' },
      { guestPath: '/workspace/.git/config', source: '/h/.git/config', rule: 'readonly' },
      { guestPath: '/workspace/.git/hooks', source: '/h/.git/hooks', rule: 'readonly' },
    ])
  })

  it('lay nothing below what is read-only already', () => {
    expect(guardsFor([held('.git', 'directory'), held('.git/hooks', 'directory')], all)).toEqual([
      { guestPath: '/workspace/.git', source: '/h/.git', rule: 'readonly' },
    ])
  })
})

describe('a held name', () => {
  let root: string
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'glovebox-guards-'))
    mkdirSync(join(root, '.git/hooks'), { recursive: true })
    writeFileSync(join(root, '.bashrc'), '')
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  const names = (): readonly HeldName[] => [
    { mount: mountOf(root), name: '.git/hooks', kind: 'directory' },
    { mount: mountOf(root), name: '.bashrc', kind: 'file' },
  ]

  it('is still held while it is what it was', () => {
    expect(areStillHeld(placesOf(names()))).toBe(true)
  })

  it('is held no more when it is gone, is of another kind, or when a link stands on the way', () => {
    rmSync(join(root, '.bashrc'))
    expect(areStillHeld(placesOf(names()))).toBe(false)
    mkdirSync(join(root, '.bashrc'))
    expect(areStillHeld(placesOf(names()))).toBe(false)
    rmSync(join(root, '.bashrc'), { recursive: true })
    symlinkSync('/etc/hostname', join(root, '.bashrc'))
    expect(areStillHeld(placesOf(names()))).toBe(false)
  })

  it('is looked at once, and so is what leads to several', () => {
    const twice = [...names(), ...names(), { mount: mountOf(root), name: '.git/config', kind: 'file' } as const]
    expect(placesOf(twice).map(({ path }) => path.slice(root.length + 1))).toEqual([
      '.git',
      '.git/hooks',
      '.bashrc',
      '.git/config',
    ])
  })

  it('is held no more when a directory above it became a link', () => {
    rmSync(join(root, '.git'), { recursive: true })
    mkdirSync(join(root, 'elsewhere/hooks'), { recursive: true })
    symlinkSync('elsewhere', join(root, '.git'))
    expect(areStillHeld(placesOf(names()))).toBe(false)
  })
})
