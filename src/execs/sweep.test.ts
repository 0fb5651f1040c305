import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeGround, type Ground } from './ground.test-support.ts'
import { execPlace } from './layout.ts'
import { writeFirstMeta, writeMeta, readMeta } from './record.ts'
import { sweepUnaccepted } from './sweep.ts'

let ground: Ground
beforeEach(() => {
  ground = makeGround()
})
afterEach(() => ground.remove())

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
    expect(await sweepUnaccepted({ root: ground.root, now: () => new Date() })).toBe(0)
    expect(await sweepUnaccepted({ root: ground.root, now: () => new Date(Date.now() + 120_000) })).toBe(2)
    expect(existsSync(execPlace(ground.root, bare)) || existsSync(timed)).toBe(false)
    expect(existsSync(execPlace(ground.root, accepted)) && existsSync(foreign)).toBe(true)
  })

  it('the first record does not take the place of a later one', async () => {
    const row = ground.exec()
    await writeMeta(ground.root, { ...row, status: 'RUNNING' }, { sync: false })
    await writeFirstMeta(ground.root, row, { sync: true })
    expect(readMeta(ground.root, row)?.status).toBe('RUNNING')
  })
})
