import { describe, expect, it } from 'vitest'
import { openStage, ttlMs, type Stage } from '../../test/fixtures/pool-simulation/stage.ts'

const idsIn = ({ table }: Stage): readonly string[] => table.list().map(({ id }) => id)
const refilledMs = 1_000

describe('leases that were taken ahead', () => {
  it('there are none before the first sandbox without a key, and then two', async () => {
    const stage = openStage()
    const { pool } = stage.start()
    const keyed = await stage.until(pool.acquire({ user: 'u', thread: 'a' }))
    await stage.pass(refilledMs)
    expect(idsIn(stage)).toEqual([keyed.id])
    await stage.until(pool.acquire(undefined))
    await stage.pass(refilledMs)
    expect(idsIn(stage)).toHaveLength(4)
  })

  it('the next sandbox without a key has one of them, under the token that it was granted with', async () => {
    const stage = openStage()
    const { pool } = stage.start()
    const first = await stage.until(pool.acquire(undefined))
    await stage.pass(refilledMs)
    const ahead = stage.table.list().filter(({ id }) => id !== first.id)
    const { id, handle } = await stage.until(pool.acquire(undefined))
    expect(ahead.map((row) => ({ id: row.id, token: row.token }))).toContainEqual({ id, token: handle.tenure.token })
  })

  it('they are renewed, and used long after they were taken', async () => {
    const stage = openStage()
    const { pool } = stage.start()
    await stage.until(pool.acquire(undefined))
    await stage.pass(3 * ttlMs)
    const { id } = await stage.until(pool.acquire(undefined))
    expect(stage.table.list().filter(({ isOver }) => isOver)).toEqual([])
    expect(stage.ground.members.get(id)?.isRunning).toBe(true)
  })

  it('one that was lost while its server slept is not used', async () => {
    const stage = openStage({ limits: { graceMs: 0 } })
    const [one, other] = [stage.start(), stage.start()]
    const first = await stage.until(one.pool.acquire(undefined))
    await stage.pass(refilledMs)
    const ahead = idsIn(stage).filter((id) => id !== first.id)
    stage.world.sleep(one.process, 4 * ttlMs)
    await stage.pass(2 * ttlMs)
    await stage.until(other.pool.reconcile())
    // Control: they are gone, as every lease is whose owner did not renew it.
    expect(idsIn(stage).filter((id) => ahead.includes(id))).toEqual([])
    await stage.pass(3 * ttlMs)
    const { id } = await stage.until(one.pool.acquire(undefined))
    expect(ahead).not.toContain(id)
  })

  it('one that came to nothing is given back', async () => {
    const stage = openStage({ limits: { replicas: 1, waitMs: 10 } })
    const { pool } = stage.start()
    await stage.until(pool.acquire(undefined))
    await stage.pass(refilledMs)
    await expect(stage.until(pool.acquire(undefined))).rejects.toMatchObject({ code: 'CAPACITY_EXCEEDED' })
    await stage.pass(refilledMs)
    expect(idsIn(stage), 'one in use, two ahead').toHaveLength(3)
  })

  it('a caller that had gone before costs none', async () => {
    const stage = openStage()
    const { pool } = stage.start()
    await stage.until(pool.acquire(undefined))
    await stage.pass(refilledMs)
    const before = idsIn(stage)
    const gone = AbortSignal.abort()
    await expect(stage.until(pool.acquire(undefined, { signal: gone }))).rejects.toMatchObject({ code: 'CANCELLED' })
    await stage.pass(refilledMs)
    expect(idsIn(stage)).toHaveLength(before.length)
  })

  it('an id that is reserved has one of them; it goes to the member that is made under it, or is given back', async () => {
    const stage = openStage()
    const { pool } = stage.start()
    await stage.until(pool.acquire(undefined))
    await stage.pass(refilledMs)
    const ahead = new Map(stage.table.list().map(({ id, token }) => [id, token]))
    const [used, unused] = [pool.reserve(), pool.reserve()]
    const { id, handle } = await stage.until(pool.acquire(undefined, { id: used.id }))
    expect([id, handle.tenure.token]).toEqual([used.id, ahead.get(used.id)])
    await stage.until(Promise.all([used.giveBack(), unused.giveBack()]))
    expect(idsIn(stage)).toContain(used.id)
    expect(ahead.has(unused.id)).toBe(true)
    expect(idsIn(stage)).not.toContain(unused.id)
  })

  it('under one id there is one member, which whoever comes second is given', async () => {
    const stage = openStage()
    const [one, other] = [stage.start(), stage.start()]
    const { id } = one.pool.reserve()
    const first = await stage.until(one.pool.acquire(undefined, { id }))
    const second = await stage.until(one.pool.acquire(undefined, { id }))
    expect([first.source, second.source, second.id]).toEqual(['created', 'process', id])
    await stage.until(one.pool.release(id))
    expect((await stage.until(other.pool.acquire(undefined, { id }))).source).toBe('discovered')
    expect([...stage.ground.members.keys()]).toEqual([id])
  })

  it('a shutdown leaves none', async () => {
    const stage = openStage()
    const { pool } = stage.start()
    await stage.until(pool.acquire(undefined))
    await stage.pass(refilledMs)
    await stage.until(pool.shutdown())
    expect(idsIn(stage)).toEqual([])
  })
})
