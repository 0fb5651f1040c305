import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SandboxManifest } from '../../../contract/artifact.ts'
import { sandboxAgain, type Allowed } from './request.ts'

let top: string
let data: string
let original: string
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-replay-')))
  data = join(top, 'data')
  original = join(top, 'runs', 'one')
  for (const directory of [data, original]) mkdirSync(directory, { recursive: true })
})
afterEach(() => rmSync(top, { recursive: true, force: true }))

const own = [
  { guest_path: '/workspace', host_path: 'workspace', mode: 'rw' },
  { guest_path: '/prompt', host_path: 'archive/prompt', mode: 'ro' },
] as const

const manifest = (given: Partial<SandboxManifest> = {}): SandboxManifest => ({
  run_id: 'one',
  recorded_at: null,
  sandbox_id: 'sbx_1',
  backend: 'bwrap',
  backend_version: '0.11.0',
  cwd: '/workspace',
  mounts: [...own],
  policy: [],
  enforced: [],
  not_enforced: [],
  environment: [],
  plan_fingerprint: null,
  ...given,
})

const withMount = (hostPath: string, mode: 'rw' | 'ro' = 'ro'): SandboxManifest =>
  manifest({ mounts: [...own, { guest_path: '/data', host_path: hostPath, mode }] })

const again = (recorded: SandboxManifest, allowed: Partial<Allowed> = {}) =>
  sandboxAgain(recorded, original, { layers: [], mounts: [], asRecorded: false, ...allowed })

const refusedWith = (code: string): Error => expect.objectContaining({ code }) as Error

describe('sandboxAgain', () => {
  it("leaves the run's own mounts to the new run", () => {
    expect(again(manifest())).toMatchObject({ backend: 'bwrap', mounts: [], layers: [], remarks: [] })
  })

  it('a record cannot choose a backend that isolates nothing', () => {
    expect(() => again(manifest({ backend: 'local' }))).toThrowError(refusedWith('INVALID_INPUT'))
    expect(() => again(manifest({ backend: 'local' }), { asRecorded: true })).toThrowError(refusedWith('INVALID_INPUT'))
    expect(again(manifest({ backend: 'local' }), { backend: 'local' }).backend).toBe('local')
  })

  it('says that the backend is another', () => {
    expect(again(manifest(), { backend: 'local' }).remarks).toEqual(['the backend is local, and was bwrap'])
  })

  it("a host directory is mounted again only with the operator's word", () => {
    expect(() => again(withMount(data))).toThrowError(refusedWith('POLICY_ESCALATION'))
    const other = [{ guestPath: '/data', hostPath: data, mode: 'rw' as const }]
    expect(() => again(withMount(data), { mounts: other })).toThrowError(refusedWith('POLICY_ESCALATION'))
    const same = [{ guestPath: '/data', hostPath: data, mode: 'ro' as const }]
    const expected = [{ guestPath: '/data', hostPath: data, mode: 'ro' }]
    expect(again(withMount(data), { mounts: same }).mounts).toEqual(expected)
    expect(again(withMount(data), { asRecorded: true }).mounts).toEqual(expected)
  })

  it('refuses a host directory that is gone', () => {
    expect(() => again(withMount(join(top, 'gone')), { asRecorded: true })).toThrowError(refusedWith('NOT_FOUND'))
  })

  it('refuses a writable mount through which the original could be changed', () => {
    for (const reaching of [top, original, join(top, 'runs')]) {
      expect(() => again(withMount(reaching, 'rw'), { asRecorded: true })).toThrowError(/could change the original/)
      expect(again(withMount(reaching, 'ro'), { asRecorded: true }).mounts).toHaveLength(1)
    }
    expect(again(withMount(data, 'rw'), { asRecorded: true }).mounts).toHaveLength(1)
  })

  it('refuses a run that never had a sandbox', () => {
    expect(() => again(manifest({ backend: null, cwd: null }))).toThrowError(/never had a sandbox/)
  })
})
