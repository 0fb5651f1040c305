import { rmSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { ExecMeta } from '../contract/exec-record.ts'
import type { ExecRow, Store } from '../contract/store.ts'
import { noExecFailpoint } from './failpoints.ts'
import type { Ground } from './ground.test-support.ts'
import { execPlace } from './layout.ts'
import { execsForEach } from './opened.test-support.ts'
import { putBack } from './put-back.ts'
import { metaOf, readMeta, writeMeta } from './record.ts'
import { markStarting, neverBegins } from './starting.ts'

let ground: Ground
let store: Store
execsForEach((opened) => ({ ground, store } = opened))

const named = {
  status: 'RUNNING',
  owner: 'srv_self',
  started_at: new Date().toISOString(),
  backend: 'docker',
  boundary_id: 'sbx_0123456789',
  image: 'glovebox/sandbox:latest',
  image_id: 'sha256:1',
} as const
const left = async (): Promise<ExecRow> => {
  const row = ground.exec(named)
  await writeMeta(ground.root, row, { sync: false })
  await store.execs.insert(row)
  markStarting(ground.root, row, named.boundary_id)
  expect(neverBegins(ground.root, row, named.boundary_id)).toBe(true)
  return row
}
const partsOf = (over: Store = store) => ({ root: ground.root, store: over, failpoint: noExecFailpoint })
const find = async ({ exec_id }: ExecRow): Promise<ExecRow> => (await store.execs.find(exec_id)) as ExecRow
const unbegun = { status: 'QUEUED', started_at: null, backend: null, boundary_id: null, image: null, image_id: null }

describe('an exec that goes back into the queue', () => {
  it('is as it came in its row and in its files, which say so first', async () => {
    const row = await left()
    const atUpdate: (ExecMeta | undefined)[] = []
    const update: Store['execs']['update'] = (...words) => {
      atUpdate.push(readMeta(ground.root, row))
      return store.execs.update(...words)
    }
    await putBack(partsOf({ ...store, execs: { ...store.execs, update } }), row)
    expect(await find(row)).toEqual({ ...row, ...unbegun })
    expect(readMeta(ground.root, row)).toEqual(metaOf(ground.root, await find(row)))
    expect(atUpdate).toEqual([readMeta(ground.root, row)])
  })

  it('is known not to have run by whoever finds it between its files and its row, and then no more', async () => {
    const row = await left()
    const failpoint = (): never => {
      throw new Error('killed')
    }
    await expect(putBack({ ...partsOf(), failpoint }, row)).rejects.toThrow('killed')
    expect([await find(row), readMeta(ground.root, row)?.status]).toMatchObject([named, 'QUEUED'])
    expect(neverBegins(ground.root, row, named.boundary_id)).toBe(true)
    await putBack(partsOf(), row)
    expect(await find(row)).toMatchObject(unbegun)
    expect(neverBegins(ground.root, row, named.boundary_id)).toBe(false)
  })

  it('is left alone, with its files, where another server was given it meanwhile', async () => {
    const row = await left()
    const taken = await store.execs.takeOver(row.exec_id, { from: 'srv_self', to: 'srv_other' })
    await putBack(partsOf(), row)
    expect(await find(row)).toEqual(taken)
    expect(readMeta(ground.root, row)).toMatchObject({ status: 'RUNNING', boundary_id: named.boundary_id })
  })

  it('goes back though its files are gone, which are not made anew: its inputs were among them', async () => {
    const row = await left()
    rmSync(execPlace(ground.root, row), { recursive: true })
    await putBack(partsOf(), row)
    expect(await find(row)).toMatchObject(unbegun)
    expect(readMeta(ground.root, row)).toBeUndefined()
  })
})
