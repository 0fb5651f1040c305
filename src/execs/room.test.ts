import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Store } from '../contract/store.ts'
import { openStore } from '../store/open.ts'
import { makeGround, someRow, type Ground } from './ground.test-support.ts'
import { openRoom } from './room.ts'

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

const full = { code: 'TOO_MANY_REQUESTS' }

it('an exec that the store has and that has not left yet counts once', async () => {
  const room = openRoom(store, { maxConcurrent: 1, maxQueued: 10, maxQueuedPerProject: 3 })
  const leaves = []
  for (let index = 0; index < 4; index++) {
    const row = someRow()
    leaves.push(await room.reserve(row))
    await store.execs.insert(row)
  }
  // Control: there is room for four, and not for five, whether they have left or not.
  await expect(room.reserve(someRow())).rejects.toMatchObject(full)
  for (const leave of leaves) leave()
  await expect(room.reserve(someRow())).rejects.toMatchObject(full)
})

it('of many that come at once as many enter as there is room for, in the project and in all', async () => {
  const room = openRoom(store, { maxConcurrent: 1, maxQueued: 5, maxQueuedPerProject: 3 })
  const entered = async (projects: readonly string[]): Promise<number> => {
    const asked = await Promise.allSettled(projects.map((project_id) => room.reserve(someRow({ project_id }))))
    return asked.filter(({ status }) => status === 'fulfilled').length
  }
  expect(await entered(Array.from({ length: 9 }, () => 'one'))).toBe(4)
  expect(await entered(['two', 'three', 'four'])).toBe(2)
})

it('whoever leaves makes room, and makes it once', async () => {
  const room = openRoom(store, { maxConcurrent: 1, maxQueued: 5, maxQueuedPerProject: 0 })
  const leave = await room.reserve(someRow())
  leave()
  leave()
  await room.reserve(someRow())
  await expect(room.reserve(someRow())).rejects.toMatchObject(full)
})
