// A process that sleeps while it makes a sandbox wakes up when the sandbox is another's. It takes nothing away from the new owner.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Backend } from '../../src/contract/backend.ts'
import { newSandboxId, type SandboxId } from '../../src/contract/ids.ts'
import type { HostPath } from '../../src/contract/mount.ts'
import { openBackendFor } from '../../src/runtime/create.ts'
import { openMembers, type RealMembers } from '../../src/runtime/pool/members.ts'
import { ownOpening, readOpening, writeOpening } from '../../src/runtime/pool/opening.ts'
import { memberPlace } from '../../src/runtime/pool/place.ts'

describe('a maker that has lost its lease', () => {
  let state: HostPath
  let backend: Backend
  let whileMaking: () => void
  let members: RealMembers
  beforeEach(async () => {
    state = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-lost-'))) as HostPath
    vi.stubEnv('GLOVEBOX_STATE_DIR', state)
    const real = await openBackendFor({ backend: 'local' })
    whileMaking = () => {}
    const create: Backend['create'] = (id, plan) => {
      whileMaking()
      return real.create(id, plan)
    }
    backend = { ...real, create }
    members = openMembers({
      state,
      leasesAt: 'test',
      backends: { names: ['local'], get: async () => backend, close: async () => {} },
      layers: [],
      env: {},
      vaults: {},
      mounts: [],
      skills: undefined,
      defaults: { backend: 'local', layout: 'workspace', lifeMs: 60_000 },
      methodFor: () => Promise.reject(new Error('nothing is carried over here')),
    })
  })
  afterEach(async () => {
    await members.close()
    await backend.close?.()
    vi.unstubAllEnvs()
    rmSync(state, { recursive: true, force: true })
  })

  const creation = (id: SandboxId, token: number) => ({
    key: null,
    request: {},
    former: { was: 'none' } as const,
    tenure: { id, token, begin: () => ({ isLost: false, whenLost() {}, end() {} }) },
  })
  /** As another process does it that was given the lease meanwhile. */
  const takeOver = (id: SandboxId): void => {
    const place = memberPlace(state, id)
    mkdirSync(join(place, 'workspace'), { recursive: true })
    writeFileSync(join(place, 'workspace', 'kept'), 'theirs')
    writeOpening(state, id, ownOpening({ state, leasesAt: 'test' }, 2, id, null))
  }

  it('leaves the files and the opening of the new owner as they are', async () => {
    const id = newSandboxId()
    whileMaking = () => takeOver(id)
    await expect(members.create(id, creation(id, 1))).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(readFileSync(join(memberPlace(state, id), 'workspace', 'kept'), 'utf8')).toBe('theirs')
    expect(readOpening(state, id)?.token).toBe(2)
  })

  it('the control: one that fails under its own lease leaves nothing', async () => {
    const id = newSandboxId()
    whileMaking = () => {
      throw new Error('the backend failed')
    }
    await expect(members.create(id, creation(id, 1))).rejects.toThrow()
    expect(existsSync(memberPlace(state, id))).toBe(false)
  })
})
