import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ExecRow, Store } from '../contract/store.ts'
import { GloveboxError, isGloveboxError } from '../errors/error.ts'
import type { Boundaries } from './boundaries.ts'
import type { Ground } from './ground.test-support.ts'
import { execsForEach, type OpenedForTest } from './opened.test-support.ts'
import { writeMeta } from './record.ts'
import { asked, stage } from './stage.test-support.ts'

let ground: Ground
let store: Store
let open: OpenedForTest['open']
execsForEach((opened) => ({ ground, store, open } = opened))

/** Nobody but the server that took it can run it. */
const ownExec = asked('', { request: { exec: { kind: 'shell', command: 'hello', env: { A: 'b' } } } })
const find = async ({ exec_id }: ExecRow): Promise<ExecRow> => (await store.execs.find(exec_id)) as ExecRow
const drained = { status: 'CANCELLED', error_reason: 'drained', started_at: null }

describe('a server that stops', () => {
  it('takes nothing from the moment on in which it holds', async () => {
    const execs = await open()
    execs.hold()
    const refused: unknown = await execs.submit(ownExec).catch((error: unknown) => error)
    expect(isGloveboxError(refused) && refused.code).toBe('DRAINING')
    expect(await store.execs.count({})).toBe(0)
  })

  it('leaves no exec that only it could run, of a request that was still being taken', async () => {
    let enter = (): void => {}
    const entered = new Promise<void>((resolve) => (enter = resolve))
    let release = (): void => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    const checkImage: Boundaries['checkImage'] = async () => {
      enter()
      await released
    }
    const execs = await open({ boundaries: { ...stage(), checkImage } })
    const taking = execs.submit({ ...ownExec, request: { ...ownExec.request, image: 'some/image' } })
    await entered
    const draining = execs.drain(0)
    // Long enough for a look that waits for nobody.
    await Promise.race([draining, delay(500)])
    release()
    await draining
    expect(await find((await taking).row)).toMatchObject(drained)
  })

  it('ends all that only it could run, however many pages they are, and leaves the rest to the next', async () => {
    const list: Store['execs']['list'] = (filter, page) =>
      store.execs.list(filter, { ...page, limit: Math.min(page.limit, 2) })
    const execs = await open({ store: { ...store, execs: { ...store.execs, list } }, limits: { maxConcurrent: 0 } })
    const own: ExecRow[] = []
    for (let times = 0; times < 5; times++) own.push((await execs.submit(ownExec)).row)
    const anybodys = (await execs.submit(asked('hello'))).row
    await execs.drain(0)
    for (const row of own) expect(await find(row)).toMatchObject(drained)
    expect(await find(anybodys)).toMatchObject({ status: 'QUEUED' })
  })

  it('leaves to the next what it took from a dead one and has not begun', async () => {
    const row = ground.exec({ owner: 'srv_dead', args: ['-lc', 'hello'] })
    await writeMeta(ground.root, row, { sync: false })
    await store.execs.insert(row)
    const execs = await open({ limits: { maxConcurrent: 0 } })
    const { owner } = await find(row)
    expect(owner, 'it was taken').not.toBe('srv_dead')
    await execs.drain(0)
    await execs.close()
    expect((await find(row)).status).toBe('QUEUED')
    const next = await open()
    expect(await next.wait(row.exec_id)).toMatchObject({ status: 'SUCCEEDED' })
  })

  it('that is told to hurry tries once more to write each end, and waits no longer', async () => {
    let isAway = true
    let tries = 0
    const update: Store['execs']['update'] = async (execId, fence, change, options) => {
      if (!isAway || change.status === undefined) return store.execs.update(execId, fence, change, options)
      tries += 1
      throw new GloveboxError('STORE_UNAVAILABLE', 'Cannot use the database: it is away')
    }
    const execs = await open({ store: { ...store, execs: { ...store.execs, update } }, limits: { maxConcurrent: 1 } })
    const running = (await execs.submit(asked('hang'))).row
    await expect.poll(async () => (await find(running)).status).toBe('RUNNING')
    await execs.submit(ownExec)
    await execs.submit(ownExec)
    const draining = execs.drain(0)
    await expect.poll(() => tries).toBeGreaterThan(0)
    const before = tries
    execs.hurry()
    await draining
    // Of each of the three.
    expect(tries - before).toBeLessThanOrEqual(3)
    isAway = false
  })
})
