import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ExecTable, Store } from '../contract/store.ts'
import type { Execs } from './execs.ts'
import type { Ground } from './ground.test-support.ts'
import { execsForEach, type OpenedForTest } from './opened.test-support.ts'
import { metaOf, readMeta, writeMeta } from './record.ts'
import { asked } from './stage.test-support.ts'

let ground: Ground
let store: Store
let open: OpenedForTest['open']
execsForEach((opened) => ({ ground, store, open } = opened))

const cancelled = { status: 'CANCELLED', error_reason: 'cancelled', started_at: null }

/** One exec runs, and others wait for it. */
async function openBusy(through: Store = store): Promise<Execs> {
  const execs = await open({ store: through, limits: { maxConcurrent: 1 } })
  const { row } = await execs.submit(asked('hang'))
  while ((await execs.find(row.exec_id))?.status !== 'RUNNING') await delay(5)
  return execs
}

describe('an exec that is cancelled in the queue', () => {
  it('has its end in its files before anybody can see it in its row', async () => {
    const seen: unknown[] = []
    const update: ExecTable['update'] = async (execId, fence, change, options) => {
      const row = await store.execs.find(execId)
      if (change.status === 'CANCELLED' && row !== undefined)
        seen.push([row.status, readMeta(ground.root, row)?.status])
      return store.execs.update(execId, fence, change, options)
    }
    const execs = await openBusy({ ...store, execs: { ...store.execs, update } })
    const { row } = await execs.submit(asked('hello'))
    expect(await execs.cancel(row.exec_id)).toMatchObject(cancelled)
    expect(seen).toEqual([['QUEUED', 'CANCELLED']])
  })

  it('ends once, however many cancel it at once, here and at another server', async () => {
    const [here, there] = [await openBusy(), await openBusy()]
    const { row } = await here.submit(asked('hello'))
    await Promise.all([here, here, there, there].map((execs) => execs.cancel(row.exec_id)))
    const ended = await here.wait(row.exec_id)
    expect(ended).toMatchObject(cancelled)
    expect(readMeta(ground.root, row)).toEqual(metaOf(ground.root, ended))
  })

  it('ends as cancelled where its canceller stops before it has written that down', async () => {
    const execs = await openBusy()
    const { row } = await execs.submit(asked('hello'))
    const [self] = (await store.owners.list()).map(({ owner }) => owner)
    const at = new Date().toISOString()
    await store.execs.requestCancel(row.exec_id, { by: self ?? '', at })
    await execs.drain(0)
    expect(await store.execs.find(row.exec_id)).toMatchObject({ ...cancelled, ended_at: at })
    expect(readMeta(ground.root, row)).toMatchObject({ ...cancelled, ended_at: at })
  })
})

describe('an exec of a dead server that was cancelled in the queue', () => {
  it('is ended by the next one, as it was cancelled', async () => {
    const row = ground.exec({ args: ['-lc', 'hello'] })
    await writeMeta(ground.root, row, { sync: false })
    await store.execs.insert(row)
    const at = new Date().toISOString()
    await store.execs.requestCancel(row.exec_id, { by: 'srv_dead', at })
    const execs = await open()
    const ended = await execs.wait(row.exec_id)
    expect(ended).toMatchObject({ ...cancelled, ended_at: at })
    expect(readMeta(ground.root, row)).toEqual(metaOf(ground.root, ended))
  })
})
