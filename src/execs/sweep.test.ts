import { existsSync, mkdirSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../contract/store.ts'
import { openStore } from '../store/open.ts'
import { makeGround, type Ground } from './ground.test-support.ts'
import { execPlace } from './layout.ts'
import { writeFirstMeta, writeMeta, readMeta } from './record.ts'
import { sweepUnaccepted } from './sweep.ts'

let ground: Ground
let store: Store
beforeEach(async () => {
  ground = makeGround()
  await mkdir(join(ground.outside, 'state'))
  store = await openStore({ url: join(ground.outside, 'state', 'glovebox.db') })
})
afterEach(async () => {
  await store.close()
  ground.remove()
})

describe('directories without a record', () => {
  it('are swept when they are old, and nothing else is', async () => {
    const bare = ground.exec()
    // As it was named when ids began with their time.
    const timed = join(ground.root, 'projects/project/artifacts/exec_019a9655f2c07d3ea1b2c3d4e5f60718')
    mkdirSync(timed)
    const accepted = ground.exec()
    await writeFirstMeta(ground.root, accepted, { sync: false })
    const foreign = join(ground.root, 'projects/project/artifacts/not-ours')
    mkdirSync(foreign)
    // Its server died before its first record, and it may wait in the queue for long.
    const queued = ground.exec()
    await store.execs.insert(queued)
    const sweep = (afterMs: number) =>
      sweepUnaccepted({ root: ground.root, store, now: () => new Date(Date.now() + afterMs) })
    expect(await sweep(0)).toBe(0)
    expect(await sweep(120_000)).toBe(2)
    expect(existsSync(execPlace(ground.root, bare)) || existsSync(timed)).toBe(false)
    for (const row of [accepted, queued]) expect(existsSync(execPlace(ground.root, row))).toBe(true)
    expect(existsSync(foreign)).toBe(true)
  })

  it('the first record does not take the place of a later one', async () => {
    const row = ground.exec()
    await writeMeta(ground.root, { ...row, status: 'RUNNING' }, { sync: false })
    await writeFirstMeta(ground.root, row, { sync: true })
    expect(readMeta(ground.root, row)?.status).toBe('RUNNING')
  })
})
