import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Store } from '../contract/store.ts'
import { openStore } from '../store/open.ts'
import { makeGround, someRow, type Ground } from './ground.test-support.ts'
import { openRoom, type AtWork, type RoomLimits } from './room.ts'

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

const idle: AtWork = { owner: () => 'srv_self', count: () => 0 }
const open = (limits: RoomLimits, atWork = idle) => openRoom(store, limits, atWork)
const run = async (owner: string): Promise<void> =>
  void (await store.execs.insert(someRow({ status: 'RUNNING', owner })))

it('an exec that the store has and that has not left yet counts once', async () => {
  const room = open({ maxConcurrent: 1, maxQueued: 10, maxQueuedPerProject: 3 })
  const leaves = []
  for (let index = 0; index < 4; index++) {
    const row = someRow()
    leaves.push(await room.reserve(row))
    await store.execs.insert(row)
  }
  // Control: there is a free place and room for three that wait, whether they have left or not.
  await expect(room.reserve(someRow())).rejects.toMatchObject(full)
  for (const leave of leaves) leave()
  await expect(room.reserve(someRow())).rejects.toMatchObject(full)
})

const entered = async (room: ReturnType<typeof open>, projects: readonly string[]): Promise<number> => {
  const asked = await Promise.allSettled(projects.map((project_id) => room.reserve(someRow({ project_id }))))
  return asked.filter(({ status }) => status === 'fulfilled').length
}
const nineOf = (project: string): readonly string[] => Array.from({ length: 9 }, () => project)

it('of many that come at once as many enter as there is room for, in the project and in all', async () => {
  const room = open({ maxConcurrent: 1, maxQueued: 5, maxQueuedPerProject: 3 })
  expect(await entered(room, nineOf('one'))).toBe(4)
  expect(await entered(room, ['two', 'three', 'four'])).toBe(2)
})

it('no more wait than the limit says where no place is free, whoever knows that it is taken', async () => {
  const limits = { maxConcurrent: 2, maxQueued: 5, maxQueuedPerProject: 3 }
  // The store hears first of what begins, and the server of what goes on behind its end.
  const busy = open(limits, { ...idle, count: () => 2 })
  expect([await entered(busy, nineOf('one')), await entered(busy, nineOf('two'))]).toEqual([3, 2])
  for (let times = 0; times < 2; times++) await run('srv_other')
  const free = open(limits)
  expect(await entered(free, nineOf('one')), 'control: what others run takes no place here').toBe(5)
  for (let times = 0; times < 2; times++) await run('srv_self')
  const known = open(limits)
  expect([await entered(known, nineOf('one')), await entered(known, nineOf('two'))]).toEqual([3, 2])
  // Of an earlier server more may have gone on than there are places.
  await run('srv_self')
  expect(await entered(open(limits), nineOf('one'))).toBe(3)
})

it('whoever leaves makes room, and makes it once', async () => {
  const room = open({ maxConcurrent: 1, maxQueued: 5, maxQueuedPerProject: 0 })
  const leave = await room.reserve(someRow())
  leave()
  leave()
  await room.reserve(someRow())
  await expect(room.reserve(someRow())).rejects.toMatchObject(full)
})
