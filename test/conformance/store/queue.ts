// The queue, its owners and their fences: several servers on one database.
import { describe, expect, it } from 'vitest'
import type { ExecTable } from '../../../src/contract/store.ts'
import { at, execRow, type Subject } from './subject.ts'

export function describeQueue({ store, stores }: Subject): void {
  const claim = (execs: ExecTable, owner = 'o1') => execs.claimNext({ owner, started_at: at(50) })

  describe('the queue', () => {
    it('the project with the fewest running execs comes first, then the oldest exec', async () => {
      const { execs } = await store()
      const queued = async (project_id: string, second: number): Promise<string> => {
        const row = execRow({ project_id, created_at: at(second) })
        await execs.insert(row)
        return row.exec_id
      }
      const greedy = [await queued('greedy', 1), await queued('greedy', 2), await queued('greedy', 3)]
      const late = [await queued('late', 10), await queued('late', 11)]
      const order: (string | undefined)[] = []
      for (let times = 0; times < 6; times++) order.push((await claim(execs))?.exec_id)
      expect(order).toEqual([greedy[0], late[0], greedy[1], late[1], greedy[2], undefined])
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
      const ended = { ...waiting, status: 'CANCELLED', fence: 2, ended_at: at(7), cancel_requested_at: at(7) }
      const asked = { ...running, cancel_requested_at: at(7) }
      for (const second of [7, 8]) {
        expect(await execs.requestCancel(waiting.exec_id, at(second))).toEqual(ended)
        expect(await execs.requestCancel(running.exec_id, at(second))).toEqual(asked)
      }
      expect(await claim(execs)).toBeUndefined()
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
