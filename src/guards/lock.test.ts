import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HostPath } from '../contract/mount.ts'
import { formatHolder, thisHolder } from '../paths/holder.ts'
import { sweepLocks } from '../paths/lock-file.ts'
import { withLock } from './lock.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'glovebox-lock-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

describe.skipIf(process.platform !== 'linux')('withLock (needs /proc)', () => {
  it('lets only one in at a time, and leaves no file', async () => {
    let inside = 0
    let most = 0
    const work = async () => {
      most = Math.max(most, ++inside)
      await delay(1)
      inside--
    }
    await Promise.all(Array.from({ length: 20 }, () => withLock({ directory, name: 'x.lock' }, work)))
    expect(most).toBe(1)
    expect(readdirSync(directory)).toEqual([])
  })

  it('gives the result, and lets go when the work fails', async () => {
    const place = { directory, name: 'x.lock' }
    await expect(withLock(place, async () => Promise.reject(new Error('work')))).rejects.toThrow('work')
    expect(await withLock(place, async () => 7)).toBe(7)
  })

  it('looks at nobody else on its turn, and leaves what the dead have left to a sweep', async () => {
    const dead = { ...thisHolder(), startTime: '1' }
    const [living, left] = ['holder-1-living', 'holder-1-dead']
    writeFileSync(join(directory, living), formatHolder(thisHolder()))
    writeFileSync(join(directory, left), formatHolder(dead))
    await withLock({ directory, name: 'x.lock' }, async () => undefined)
    expect(readdirSync(directory).toSorted()).toEqual([left, living])
    sweepLocks(directory as HostPath)
    expect(readdirSync(directory)).toEqual([living])
  })

  it('gives up after waiting in vain, and leaves the lock to its holder', async () => {
    const place = { directory, name: 'x.lock', waitMs: 20 }
    await withLock(place, async () => {
      await expect(withLock(place, async () => 1)).rejects.toMatchObject({ code: 'BUSY' })
      expect(readdirSync(directory)).toContain('x.lock')
    })
  })
})
