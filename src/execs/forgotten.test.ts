// What was written and not synced, a database that crashed has forgotten. Here it forgets all of that at once.
import { describe, expect, it } from 'vitest'
import type { Store } from '../contract/store.ts'
import { execsForEach, type OpenedForTest } from './opened.test-support.ts'
import { asked } from './stage.test-support.ts'

let opened: OpenedForTest
execsForEach((each) => {
  opened = each
})

const forgetful = ({ execs, ...store }: Store): Store => ({
  ...store,
  execs: {
    ...execs,
    insert: async (row, options) =>
      options?.durability === 'written' ? { outcome: 'claimed' } : await execs.insert(row, options),
    update: async (execId, fence, change, options) =>
      options?.durability === 'written' ? true : await execs.update(execId, fence, change, options),
  },
})

describe('a database that forgets what was not synced', () => {
  it('knows where a command runs as long as it runs', async () => {
    const { store, open } = opened
    const execs = await open({ store: forgetful(store) })
    const { row } = await execs.submit(asked('hang', { early: true }))
    await expect.poll(() => execs.running).toBe(1)
    await expect.poll(async () => (await store.execs.find(row.exec_id))?.boundary_id).toEqual(expect.any(String))
  })

  it('has not begun what it lost, and whoever waits for it is told so', async () => {
    const { store, open } = opened
    const execs = await open({ store: forgetful(store) })
    const { row } = await execs.submit(asked('hello', { early: false }))
    await expect(execs.wait(row.exec_id)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })
})
