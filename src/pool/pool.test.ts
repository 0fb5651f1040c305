import { describe, expect, it } from 'vitest'
import type { SandboxKey } from '../contract/provider.ts'
import { openStage, ttlMs, type Stage } from '../../test/fixtures/pool-simulation/stage.ts'
import type { Server } from '../../test/fixtures/pool-simulation/server.ts'
import { idOfKey } from './ids.ts'

const key = (thread: string): SandboxKey => ({ user: 'u', thread })
const [a, b, c] = [key('a'), key('b'), key('c')]

const used = async (stage: Stage, { pool }: Server, of: SandboxKey): Promise<void> => {
  const { id } = await stage.until(pool.acquire(of))
  await stage.until(pool.release(id))
}
const statesOf = ({ pool }: Server): readonly string[] => pool.list().map(({ state }) => state)
const threadsOf = ({ pool }: Server): readonly (string | undefined)[] => pool.list().map((one) => one.key?.thread)

describe('borrowing', () => {
  it('looks in the process, then among the warm, then at what runs elsewhere, and only then creates', async () => {
    const stage = openStage()
    const [one, other] = [stage.start(), stage.start()]
    const sources: string[] = []
    const take = async ({ pool }: Server): Promise<void> => {
      const { id, source } = await stage.until(pool.acquire(a))
      sources.push(source)
      if (sources.length > 1) await stage.until(pool.release(id))
    }
    for (const server of [one, one, one, other, one]) await take(server)
    expect(sources).toEqual(['created', 'process', 'warm', 'discovered', 'discovered'])
  })

  it('replaces a dead one without an error, and takes what nobody can tell for living', async () => {
    const stage = openStage()
    const server = stage.start()
    const first = await stage.until(server.pool.acquire(a))
    await stage.until(server.pool.release(first.id))
    stage.ground.removeBehindTheBack(first.id)
    const again = await stage.until(server.pool.acquire(a))
    expect([again.id, again.source]).toEqual([first.id, 'created'])
    expect(server.pool.stats()).toMatchObject({ replaced: 1, active: 1, used: 1 })
  })

  it('different keys that share an id are refused, in memory and at rest', async () => {
    const stage = openStage({ idOf: () => idOfKey(a) })
    const [one, other] = [stage.start(), stage.start()]
    const { id } = await stage.until(one.pool.acquire(a))
    await expect(stage.until(one.pool.acquire(b))).rejects.toMatchObject({ code: 'KEY_COLLISION' })
    await stage.until(one.pool.release(id))
    await expect(stage.until(other.pool.acquire(b))).rejects.toMatchObject({ code: 'KEY_COLLISION' })
    expect(statesOf(one), 'whoever has parked it has it still').toEqual(['warm'])
    expect((await stage.until(one.pool.acquire(a))).source).toBe('warm')
    expect([one.pool.stats().used, other.pool.stats().used]).toEqual([1, 0])
  })

  it('opens by id what is there, and makes nothing', async () => {
    const stage = openStage()
    const [one, other] = [stage.start(), stage.start()]
    await used(stage, one, a)
    expect((await stage.until(other.pool.open(idOfKey(a)))).source).toBe('discovered')
    await expect(stage.until(other.pool.open(idOfKey(b)))).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(stage.table.find(idOfKey(b)), 'no lease stays behind').toBeUndefined()
  })

  it('a caller that no longer wants it is told so, and the line behind it goes on', async () => {
    const stage = openStage({ limits: { replicas: 1, waitMs: 60_000 } })
    const { pool } = stage.start()
    const { id } = await stage.until(pool.acquire(a))
    const gone = new AbortController()
    const first = pool.acquire(b, { signal: gone.signal })
    const second = pool.acquire(c)
    await stage.pass(100)
    gone.abort()
    await expect(stage.until(first)).rejects.toMatchObject({ code: 'CANCELLED' })
    await stage.until(pool.release(id))
    expect((await stage.until(second)).id).toBe(idOfKey(c))
  })
})

describe('places', () => {
  it('the parked member that was not used for longest goes first', async () => {
    const stage = openStage()
    const server = stage.start()
    for (const each of [a, b, a]) await used(stage, server, each)
    await used(stage, server, c)
    expect(threadsOf(server)).toEqual(['a', 'c'])
    expect(server.pool.stats().ended.evicted).toBe(1)
  })

  it('an active member is never evicted: the answer is no, after the wait', async () => {
    const stage = openStage()
    const { pool } = stage.start()
    await stage.until(pool.acquire(a))
    await stage.until(pool.acquire(b))
    const before = stage.world.nowMs()
    await expect(stage.until(pool.acquire(c))).rejects.toMatchObject({
      code: 'CAPACITY_EXCEEDED',
      facts: { replicas: 2, retryAfterSeconds: 1 },
    })
    expect(stage.world.nowMs() - before).toBeGreaterThanOrEqual(1_000)
    expect(pool.stats()).toMatchObject({ active: 2, used: 2, waiting: 0 })
  })

  it('what can be evicted is waited for, however short the wait', async () => {
    const stage = openStage({ limits: { replicas: 1 } })
    const server = stage.start()
    await used(stage, server, a)
    const got = await stage.until(server.pool.acquire(b, { waitMs: 0 }))
    expect([got.id, threadsOf(server)]).toEqual([idOfKey(b), ['b']])
    await expect(stage.until(server.pool.acquire(c, { waitMs: 0 }))).rejects.toMatchObject({
      code: 'CAPACITY_EXCEEDED',
    })
  })

  it('whoever waits is served when one is released, in the order of coming', async () => {
    const stage = openStage({ limits: { replicas: 1, waitMs: 60_000 } })
    const { pool } = stage.start()
    const { id } = await stage.until(pool.acquire(a))
    const order: string[] = []
    const served = async (each: SandboxKey): Promise<void> => {
      const got = await pool.acquire(each)
      order.push(each.thread)
      await pool.release(got.id)
    }
    const first = served(b)
    await stage.pass(50)
    const second = served(c)
    await stage.pass(50)
    await stage.until(pool.release(id))
    await stage.until(Promise.all([first, second]))
    expect(order).toEqual(['b', 'c'])
  })

  it('a member that was released in the middle of a command is parked when that has ended', async () => {
    const stage = openStage()
    const server = stage.start()
    const { id, handle } = await stage.until(server.pool.acquire(a))
    const work = handle.tenure.begin()
    await stage.until(server.pool.release(id))
    expect(statesOf(server)).toEqual(['active'])
    expect(stage.table.find(id)?.state).toBe('active')
    expect(work.isLost).toBe(false)
    work.end()
    await stage.pass(100)
    expect(statesOf(server)).toEqual(['warm'])
    expect(stage.table.find(id)?.state).toBe('warm')
    expect(() => handle.tenure.begin()).toThrowError(expect.objectContaining({ code: 'SANDBOX_GONE' }))
  })
})

describe('whoever is about to use a member that was released', () => {
  it('keeps it from being parked in between', async () => {
    const stage = openStage()
    const { pool } = stage.start()
    const { id, handle } = await stage.until(pool.acquire(a))
    const first = handle.tenure.begin()
    await stage.until(pool.release(id))
    const again = pool.use(id)
    first.end()
    await stage.pass(100)
    expect(() => again?.tenure.begin().end()).not.toThrow()
    expect(pool.stats()).toMatchObject({ active: 1, warm: 0 })
  })
})

describe('the reaper', () => {
  it('takes what was not used for long, whether active or warm', async () => {
    const stage = openStage()
    const server = stage.start()
    await stage.until(server.pool.acquire(a))
    await used(stage, server, b)
    await stage.pass(590_000)
    expect(statesOf(server)).toEqual(['active', 'warm'])
    await stage.pass(30_000)
    expect(statesOf(server)).toEqual([])
    expect(server.pool.stats().ended.idle).toBe(2)
    expect([...stage.ground.members.values()].map(({ isRunning }) => isRunning)).toEqual([false, false])
  })

  it('0 turns it off', async () => {
    const stage = openStage({ limits: { idleMs: 0 } })
    const server = stage.start()
    await used(stage, server, a)
    await stage.pass(2 * 600_000)
    expect(statesOf(server)).toEqual(['warm'])
  })

  it('a probe, a renewal or a pass of reconcile never extends a life', async () => {
    const stage = openStage()
    const [server, other] = [stage.start(), stage.start()]
    await used(stage, server, a)
    for (let minute = 0; minute < 9; minute += 1) {
      await stage.pass(60_000)
      await stage.until(Promise.all([server.pool.reconcile(), other.pool.reconcile(), server.pool.reap()]))
    }
    expect(statesOf(server)).toEqual(['warm'])
    await stage.pass(80_000)
    expect(statesOf(server)).toEqual([])
  })

  it('takes nothing in which a command runs, however long', async () => {
    const stage = openStage()
    const server = stage.start()
    const { handle } = await stage.until(server.pool.acquire(a))
    const work = handle.tenure.begin()
    await stage.pass(3_600_000)
    expect([statesOf(server), work.isLost]).toEqual([['active'], false])
    work.end()
    await stage.pass(590_000)
    expect(statesOf(server), 'its end is a use of it').toEqual(['active'])
  })

  it('never takes one that is being acquired', async () => {
    const stage = openStage()
    const server = stage.start()
    await used(stage, server, a)
    await stage.pass(599_000)
    const before = server.pool.list()[0]?.idleMs ?? 0
    await stage.pass(600_000 - before - 1)
    const acquiring = server.pool.acquire(a)
    await stage.pass(1)
    const reaping = server.pool.reap()
    expect((await stage.until(acquiring)).source).toBe('warm')
    await stage.until(reaping)
    expect(statesOf(server)).toEqual(['active'])
  })

  it('leaves alone what somebody is about to use, though nothing has begun yet', async () => {
    const stage = openStage()
    const server = stage.start()
    const { id } = await stage.until(server.pool.acquire(a))
    await stage.pass(599_000)
    expect(server.pool.find(id), 'to find it is no use of it').toBeDefined()
    const handle = server.pool.use(id)
    await stage.pass(2_000)
    await stage.until(server.pool.reap())
    expect(() => handle?.tenure.begin().end()).not.toThrow()
    expect(statesOf(server)).toEqual(['active'])
    await stage.pass(620_000)
    expect([statesOf(server), server.pool.use(id)]).toEqual([[], undefined])
  })

  it('ends what has come to its absolute end, though it is in use, and the key begins anew', async () => {
    const stage = openStage()
    const server = stage.start()
    const { id, handle } = await stage.until(server.pool.acquire(a))
    const work = handle.tenure.begin()
    stage.ground.expire(id)
    await stage.pass(20_000)
    expect([statesOf(server), work.isLost]).toEqual([[], true])
    expect((await stage.until(server.pool.acquire(a))).source).toBe('created')
  })

  it('ends what is used alone only when that is over, though its end has come', async () => {
    const stage = openStage()
    const server = stage.start()
    const { id, handle } = await stage.until(server.pool.acquire(a))
    const work = handle.tenure.begin({ isAlone: true })
    stage.ground.expire(id)
    await stage.pass(20_000)
    expect([statesOf(server), work.isLost]).toEqual([['active'], false])
    work.end()
    await stage.pass(20_000)
    expect(statesOf(server)).toEqual([])
  })
})

describe('a member that is used alone', () => {
  it('is given to nobody until that is over, though it may look dead meanwhile', async () => {
    const stage = openStage({ limits: { waitMs: 5_000 } })
    const { pool } = stage.start()
    const { id, handle } = await stage.until(pool.acquire(a))
    const work = handle.tenure.begin({ isAlone: true })
    await expect(stage.until(pool.acquire(a))).rejects.toMatchObject({ code: 'BUSY' })
    stage.ground.removeBehindTheBack(id)
    const waiting = pool.acquire(a)
    await stage.pass(1_000)
    expect([work.isLost, pool.stats().replaced]).toEqual([false, 0])
    work.end()
    expect((await stage.until(waiting)).id).toBe(id)
  })

  it('is laid to rest when that is over', async () => {
    const stage = openStage()
    const server = stage.start()
    const { id, handle } = await stage.until(server.pool.acquire(a))
    const work = handle.tenure.begin({ isAlone: true })
    const resting = server.pool.rest(id)
    await stage.pass(1_000)
    expect([statesOf(server), work.isLost]).toEqual([['active'], false])
    work.end()
    await stage.until(resting)
    expect(statesOf(server)).toEqual([])
  })
})

describe('reconcile', () => {
  it('an orphan is taken after the grace period, and not before', async () => {
    const stage = openStage()
    const [crashed, other] = [stage.start(), stage.start()]
    const { id } = await stage.until(crashed.pool.acquire(a))
    crashed.process.isDead = true
    await stage.pass(ttlMs + 50_000)
    expect(stage.ground.members.get(id)?.isRunning).toBe(true)
    await stage.pass(80_000)
    expect(stage.ground.members.get(id)?.isRunning).toBe(false)
    expect([other.pool.stats().ended.orphan, stage.table.list()]).toEqual([1, []])
  })

  it('whoever asks with a key that is refused does not keep an orphan alive', async () => {
    const stage = openStage({ idOf: () => idOfKey(a) })
    const [crashed, other] = [stage.start(), stage.start()]
    await stage.until(crashed.pool.acquire(a))
    crashed.process.isDead = true
    for (let round = 0; round < 7; round += 1) {
      await stage.pass(20_000)
      await stage.until(other.pool.acquire(b).catch(() => undefined))
    }
    expect(other.pool.stats().ended.orphan).toBe(1)
  })

  it("leaves another server's members alone, active or warm", async () => {
    const stage = openStage()
    const [one, other] = [stage.start(), stage.start()]
    await stage.until(one.pool.acquire(a))
    await used(stage, one, b)
    for (let pass = 0; pass < 5; pass += 1) {
      await stage.pass(60_000)
      await stage.until(other.pool.reconcile())
    }
    expect([statesOf(one), other.pool.stats().ended.orphan]).toEqual([['active', 'warm'], 0])
  })
})

describe('an owner that slept', () => {
  it('finds its token stale when it wakes, and stops', async () => {
    const stage = openStage()
    const [sleeper, other] = [stage.start(), stage.start()]
    const { id, handle } = await stage.until(sleeper.pool.acquire(a))
    const work = handle.tenure.begin()
    stage.world.sleep(sleeper.process, 2 * ttlMs)
    await stage.pass(ttlMs + 1_000)
    const taken = await stage.until(other.pool.acquire(a))
    expect(taken.id).toBe(id)
    expect(() => handle.tenure.begin()).toThrowError(expect.objectContaining({ code: 'LEASE_LOST' }))
    expect(work.isLost).toBe(true)
    await stage.pass(2 * ttlMs)
    expect([sleeper.pool.list(), sleeper.pool.stats().lost]).toEqual([[], 1])
    expect(statesOf(other)).toEqual(['active'])
  })

  it('gets what another had meanwhile and has parked, however short the wait', async () => {
    const stage = openStage()
    const [sleeper, other] = [stage.start(), stage.start()]
    const { id } = await stage.until(sleeper.pool.acquire(a))
    stage.world.sleep(sleeper.process, 2 * ttlMs)
    await stage.pass(ttlMs + 1_000)
    await used(stage, other, a)
    expect(statesOf(sleeper), 'it knows nothing of that yet').toEqual(['active'])
    const again = await stage.until(sleeper.pool.acquire(a, { waitMs: 0 }))
    expect([again.id, again.source]).toEqual([id, 'discovered'])
  })

  it('goes on where nobody took it in the meantime', async () => {
    const stage = openStage()
    const sleeper = stage.start()
    const { handle } = await stage.until(sleeper.pool.acquire(a))
    stage.world.sleep(sleeper.process, 2 * ttlMs)
    await stage.pass(2 * ttlMs + 15_000)
    expect(() => handle.tenure.begin().end()).not.toThrow()
  })
})

describe('shutdown', () => {
  it('takes nothing new, ends its members, keeps their files and leaves no lease', async () => {
    const stage = openStage()
    const server = stage.start()
    const { id } = await stage.until(server.pool.acquire(a))
    await used(stage, server, b)
    await stage.until(server.pool.shutdown())
    await expect(stage.until(server.pool.acquire(c))).rejects.toMatchObject({ code: 'DRAINING' })
    expect([stage.table.list(), stage.ground.members.get(id)?.isRunning]).toEqual([[], false])
    expect(server.pool.stats()).toMatchObject({ used: 0, ended: { shutdown: 2 } })
  })
})
