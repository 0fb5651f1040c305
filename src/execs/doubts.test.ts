import { statSync, utimesSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ExecRow, ExecTable, Store } from '../contract/store.ts'
import { GloveboxError } from '../errors/error.ts'
import { openStore } from '../store/open.ts'
import { openDoubts, type Doubts, type DoubtsParts } from './doubts.ts'
import { makeGround, type Ground } from './ground.test-support.ts'
import { execPlace } from './layout.ts'

let ground: Ground
let store: Store
let doubts: Doubts | undefined
let seen: (readonly [string, string])[]
/** The database does not answer. */
let isAway: boolean
beforeEach(async () => {
  ground = makeGround()
  seen = []
  isAway = true
  await mkdir(join(ground.outside, 'state'))
  store = await openStore({ url: join(ground.outside, 'state', 'glovebox.db') })
})
afterEach(async () => {
  doubts?.close()
  await store.close()
  ground.remove()
})

function open(change: Partial<DoubtsParts> = {}): Doubts {
  const wasInserted: ExecTable['wasInserted'] = async (row) => {
    if (isAway) throw new GloveboxError('STORE_UNAVAILABLE', 'Cannot use the database: it is away')
    return store.execs.wasInserted(row)
  }
  doubts = openDoubts({
    root: ground.root,
    store: { execs: { ...store.execs, wasInserted } },
    now: () => new Date(),
    log: () => {},
    onThere: async ({ exec_id }) => void seen.push(['there', exec_id]),
    onVoid: async ({ exec_id }) => void seen.push(['void', exec_id]),
    withinMs: 0,
    againMs: 20,
    ...change,
  })
  return doubts
}

const inserted = async (): Promise<ExecRow> => {
  const row = ground.exec()
  await store.execs.insert(row)
  return row
}

describe('an exec that may be in the store', () => {
  it('is known to be there, or not, as soon as the database answers', async () => {
    const [there, lost] = [await inserted(), ground.exec()]
    const opened = open({ withinMs: 60_000 })
    const answers = Promise.all([opened.settle(there), opened.settle(lost)])
    isAway = false
    expect(await answers).toEqual([true, false])
    expect(seen).toEqual([])
  })

  it('is seen to behind the back of a caller who was told that nobody knows', async () => {
    const [there, lost] = [await inserted(), ground.exec()]
    const opened = open()
    expect([await opened.settle(there), await opened.settle(lost)]).toEqual([undefined, undefined])
    isAway = false
    const both = [
      ['there', there.exec_id],
      ['void', lost.exec_id],
    ]
    await expect.poll(() => seen, { timeout: 30_000 }).toEqual(both)
  })

  it('is accepted in the end where that failed at first', async () => {
    const row = await inserted()
    let times = 0
    const opened = open({
      onThere: async () => {
        if (++times === 1) throw new Error('the disk is full')
        seen.push(['there', row.exec_id])
      },
    })
    await opened.settle(row)
    isAway = false
    await expect.poll(() => seen, { timeout: 30_000 }).toEqual([['there', row.exec_id]])
  })

  it('has a directory that looks new as long as nobody knows, so that no server sweeps it', async () => {
    const row = ground.exec()
    const place = execPlace(ground.root, row)
    await open().settle(row)
    utimesSync(place, 1000, 1000)
    await expect.poll(() => statSync(place).mtimeMs, { timeout: 30_000 }).toBeGreaterThan(Date.now() - 60_000)
    expect(seen).toEqual([])
  })
})
