import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { HostPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import { openSpares, type Spares } from './spares.ts'

describe('what cannot be made ahead', () => {
  let state: HostPath
  let spares: Spares
  let tries: number
  const told: unknown[] = []
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    state = mkdtempSync(join(tmpdir(), 'glovebox-spares-')) as HostPath
    tries = 0
    told.length = 0
  })
  afterEach(async () => {
    await spares.close()
    vi.useRealTimers()
    rmSync(state, { recursive: true, force: true })
  })
  const failWith = (error: Error): void => {
    const kind = (): Promise<never> => {
      tries += 1
      return Promise.reject(error)
    }
    spares = openSpares({ state, count: 2, kind, onFault: (fault) => told.push(fault) })
  }
  const missing = new GloveboxError('BACKEND_UNAVAILABLE', 'Cannot make a sandbox: bwrap is missing', {
    operatorDetail: '/usr/bin/bwrap',
  })

  it('is told each time, with the reason, and counted', async () => {
    failWith(missing)
    await spares.filled()
    expect(told).toEqual([missing])
    expect(spares.ahead).toEqual({ ready: 0, wanted: 2, failed: 1, why: 'Cannot make a sandbox: bwrap is missing' })
  })

  it('is tried again, each time after twice as long, and at least once in a minute', async () => {
    failWith(missing)
    const after: number[] = []
    for (let second = 0, seen = 0; second <= 250; second += 1) {
      await spares.filled()
      if (tries > seen) after.push(second)
      seen = tries
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(after).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 243])
    expect(told).toHaveLength(tries)
  })

  it('of a fault that is not ours only that it was one is told', async () => {
    failWith(new Error('EACCES: permission denied, open /srv/private'))
    await spares.filled()
    expect(spares.ahead.why).toBe('Cannot make a sandbox ahead: something went wrong')
  })

  it('is not tried any more once it is closed', async () => {
    failWith(missing)
    await spares.filled()
    await spares.close()
    await vi.advanceTimersByTimeAsync(600_000)
    expect(tries).toBe(1)
  })
})
