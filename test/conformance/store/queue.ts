// The queue, its owners and their fences: several servers on one database.
import { describe, expect, it } from 'vitest'
import type { ExecTable } from '../../../src/contract/store.ts'
import { at, execRow, request, type Subject } from './subject.ts'

export function describeQueue({ store, stores }: Subject): void {
  const claim = (execs: ExecTable, owner = 'o1') => execs.claimNext({ owner, started_at: at(50) })

  describe('the queue', () => {
    const queued = async (execs: ExecTable, project_id: string, second: number): Promise<string> => {
      const row = execRow({ project_id, created_at: at(second) })
      await execs.insert(row)
      return row.exec_id
    }

    it('the project with the fewest running execs comes first, then the one whose last turn is longest ago, then the oldest exec', async () => {
      const { execs } = await store()
      const greedy = [
        await queued(execs, 'greedy', 1),
        await queued(execs, 'greedy', 2),
        await queued(execs, 'greedy', 3),
      ]
      const late = [await queued(execs, 'late', 10), await queued(execs, 'late', 11)]
      const order: (string | undefined)[] = []
      for (let times = 0; times < 6; times++) order.push((await claim(execs))?.exec_id)
      expect(order).toEqual([greedy[0], late[0], greedy[1], late[1], greedy[2], undefined])
    })

    it('projects take turns where each exec has ended before the next is claimed', async () => {
      const [one, other] = await stores(2)
      const { execs } = one!
      const names = new Map<string, string>()
      for (let second = 0; second < 5; second++) names.set(await queued(execs, 'greedy', second), `greedy ${second}`)
      names.set(await queued(execs, 'late', 10), 'late 10')
      const order: (string | undefined)[] = []
      // The time of day is the same for all, and then goes back: turns are counted.
      for (let times = 0; times < 8; times++) {
        const server = times % 2 === 0 ? one! : other!
        const row = await server.execs.claimNext({ owner: 'o1', started_at: at(times < 4 ? 1000 : 1) })
        order.push(row === undefined ? undefined : names.get(row.exec_id))
        if (row !== undefined) await server.execs.update(row.exec_id, row.fence, { status: 'SUCCEEDED' })
        if (times === 2) names.set(await queued(execs, 'late', 11), 'late 11')
      }
      const fair = ['greedy 0', 'late 10', 'greedy 1', 'late 11', 'greedy 2', 'greedy 3', 'greedy 4', undefined]
      expect(order).toEqual(fair)
    })

    it('projects take turns in the place that is left while others run for long', async () => {
      const { execs } = await store()
      for (let second = 0; second < 3; second++) await queued(execs, 'long', second)
      for (let times = 0; times < 3; times++) await claim(execs)
      for (let second = 10; second < 14; second++) await queued(execs, 'greedy', second)
      await queued(execs, 'late', 20)
      await queued(execs, 'long', 5)
      const order: string[] = []
      for (let times = 0; times < 6; times++) {
        const row = (await claim(execs))!
        order.push(row.project_id)
        await execs.update(row.exec_id, row.fence, { status: 'SUCCEEDED' })
      }
      expect(order).toEqual(['greedy', 'late', 'greedy', 'greedy', 'greedy', 'long'])
    })

    it('a claimed exec is running, with its new owner and a higher fence', async () => {
      const { execs } = await store()
      const row = execRow({ fence: 4 })
      await execs.insert(row)
      const claimed = await claim(execs)
      expect(claimed).toEqual({ ...row, status: 'RUNNING', owner: 'o1', fence: 5, started_at: at(50) })
      expect(await execs.find(row.exec_id)).toEqual(claimed)
    })

    it('an exec that only its owner may start is given to nobody else', async () => {
      const { execs } = await store()
      const row = execRow({ owner: 'o1' })
      await execs.insert(row)
      expect(await claim(execs, 'o2')).toBeUndefined()
      expect((await claim(execs, 'o1'))?.exec_id).toBe(row.exec_id)
    })

    it('two that claim at once never get the same exec', async () => {
      const servers = await stores(4)
      const rows = Array.from({ length: 40 }, (_, index) =>
        execRow({ project_id: `p${index % 3}`, created_at: at(index) }),
      )
      await Promise.all(rows.map((row) => servers[0]!.execs.insert(row)))
      const claims = await Promise.all(
        Array.from({ length: 60 }, (_, index) => claim(servers[index % servers.length]!.execs, `o${index % 4}`)),
      )
      const ids = claims.flatMap((row) => (row === undefined ? [] : [row.exec_id]))
      expect(ids.toSorted()).toEqual(rows.map(({ exec_id }) => exec_id).toSorted())
    })

    it('cancelling twice is cancelling once', async () => {
      const { execs } = await store()
      const waiting = execRow({ fence: 1 })
      const running = execRow({ status: 'RUNNING', owner: 'o1', fence: 1 })
      for (const row of [waiting, running]) await execs.insert(row)
      const taken = { ...waiting, owner: 'o7', fence: 2, cancel_requested_at: at(7) }
      const asked = { ...running, cancel_requested_at: at(7) }
      for (const second of [7, 8]) {
        const cancel = { by: `o${second}`, at: at(second) }
        expect(await execs.requestCancel(waiting.exec_id, cancel)).toEqual(taken)
        expect(await execs.requestCancel(running.exec_id, cancel)).toEqual(asked)
      }
    })

    it('an exec that was cancelled in the queue is claimed by nobody', async () => {
      const { execs } = await store()
      const row = execRow({ owner: 'o1' })
      await execs.insert(row)
      await execs.requestCancel(row.exec_id, { by: 'o2', at: at(7) })
      for (const owner of ['o1', 'o2', 'o3']) expect(await claim(execs, owner)).toBeUndefined()
      // Neither is one whose canceller has died.
      const over = await execs.takeOver(row.exec_id, { from: 'o2', to: 'o3' })
      expect(over).toMatchObject({ status: 'QUEUED', owner: 'o3', fence: 2 })
      expect(await claim(execs, 'o3')).toBeUndefined()
    })

    it('of those that claim it and those that cancel it at once, one has it', async () => {
      const [one, other] = await stores(2)
      for (let round = 0; round < 20; round++) {
        const row = execRow()
        await one!.execs.insert(row)
        const cancel = { by: 'canceller', at: at(7) }
        const [claimed, cancelled] = await Promise.all([
          claim(one!.execs),
          other!.execs.requestCancel(row.exec_id, cancel),
        ])
        expect(cancelled).toMatchObject(
          claimed === undefined ? { owner: 'canceller', fence: 1 } : { status: 'RUNNING' },
        )
        await one!.execs.update(row.exec_id, 1, { status: 'CANCELLED' })
      }
    })
  })

  describe('what is withdrawn', () => {
    it('what is withdrawn was never there, and neither was its key', async () => {
      const { execs, idempotency } = await store()
      const [first, second, other] = [execRow(), execRow(), execRow()]
      await execs.insert(other, { request: request('other') })
      await execs.insert(first, { request: request('k') })
      expect(await execs.withdraw(first.exec_id, request('k'))).toBe(true)
      expect(await execs.find(first.exec_id)).toBeUndefined()
      expect(await idempotency.find(request('k'))).toBeUndefined()
      expect(await execs.withdraw(first.exec_id, request('k'))).toBe(false)
      expect(await execs.insert(second, { request: request('k', 'b') })).toEqual({ outcome: 'claimed' })
      expect(await execs.find(other.exec_id)).toEqual(other)
      expect(await idempotency.find(request('other'))).toMatchObject({ subject: other.exec_id })
    })

    it('an exec that was claimed or cancelled, or has ended, is withdrawn no more', async () => {
      const { execs, idempotency } = await store()
      const row = execRow()
      await execs.insert(row, { request: request('k') })
      const claimed = await claim(execs)
      expect(await execs.withdraw(row.exec_id, request('k'))).toBe(false)
      expect(await execs.find(row.exec_id)).toEqual(claimed)
      await execs.update(row.exec_id, claimed!.fence, { status: 'SUCCEEDED' })
      expect(await execs.withdraw(row.exec_id, request('k'))).toBe(false)
      expect(await idempotency.find(request('k'))).toMatchObject({ subject: row.exec_id })
      const cancelled = execRow()
      await execs.insert(cancelled)
      await execs.requestCancel(cancelled.exec_id, { by: 'o', at: at(7) })
      expect(await execs.withdraw(cancelled.exec_id)).toBe(false)
    })

    it('of those that claim it and those that withdraw it at once, one has it', async () => {
      const [one, other] = await stores(2)
      for (let round = 0; round < 20; round++) {
        const row = execRow()
        await one!.execs.insert(row, { request: request(`k${round}`) })
        const [claimed, isWithdrawn] = await Promise.all([
          claim(one!.execs),
          other!.execs.withdraw(row.exec_id, request(`k${round}`)),
        ])
        expect(isWithdrawn).toBe(claimed === undefined)
        expect((await one!.execs.find(row.exec_id))?.status).toBe(isWithdrawn ? undefined : 'RUNNING')
      }
    })
  })

  describe('fences', () => {
    it('the fence of an exec only grows, and a writer with an older one changes nothing', async () => {
      const { execs } = await store()
      await execs.insert(execRow())
      const first = await claim(execs, 'o1')
      const second = await execs.takeOver(first!.exec_id, { from: 'o1', to: 'o2' })
      expect(second).toEqual({ ...first, owner: 'o2', fence: first!.fence + 1 })
      expect(await execs.update(first!.exec_id, first!.fence, { status: 'SUCCEEDED', exit_code: 0 })).toBe(false)
      expect(await execs.find(first!.exec_id)).toEqual(second)
      expect(await execs.update(first!.exec_id, second!.fence, { status: 'LOST' })).toBe(true)
    })

    it('of many that take over at once, one wins', async () => {
      const servers = await stores(4)
      for (let round = 0; round < 10; round++) {
        const row = execRow({ status: 'RUNNING', owner: 'dead', fence: round })
        await servers[0]!.execs.insert(row)
        const tries = servers.map(({ execs }, index) => execs.takeOver(row.exec_id, { from: 'dead', to: `o${index}` }))
        const won = (await Promise.all(tries)).filter((each) => each !== undefined)
        expect(won).toHaveLength(1)
        expect(await servers[1]!.execs.find(row.exec_id)).toEqual(won[0])
        expect(won[0]!.fence).toBe(round + 1)
      }
    })
  })

  describe('owners', () => {
    it('a heart beats for whoever is alive, and not for one that was declared dead', async () => {
      const [one, other] = await stores(2)
      const facts = { boot: 'b', pid: 7, nested: { start: '1' } }
      await one!.owners.add({ owner: 'o1', facts, created_at: at(1) })
      expect(await one!.owners.beat('o1')).toBe(1)
      expect(await one!.owners.beat('o1')).toBe(2)
      expect(await other!.owners.list()).toEqual([{ owner: 'o1', facts, beat: 2, created_at: at(1) }])
      await other!.owners.remove('o1')
      await other!.owners.remove('o1')
      expect(await one!.owners.beat('o1')).toBeUndefined()
      expect(await one!.owners.list()).toEqual([])
    })
  })
}
