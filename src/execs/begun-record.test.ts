import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { BackendImage } from '../contract/backend.ts'
import type { ExecMeta } from '../contract/exec-record.ts'
import type { PolicyLayer, PolicyValues, ResolvedPolicy } from '../contract/policy.ts'
import type { ExecRow, Store } from '../contract/store.ts'
import { resolvePolicy } from '../policy/resolve.ts'
import type { Boundaries } from './boundaries.ts'
import type { Ground } from './ground.test-support.ts'
import { recordPlace } from './layout.ts'
import { execsForEach, type OpenedForTest } from './opened.test-support.ts'
import { toSnapshot } from './policy-words.ts'
import { metaOf, readMeta, rowFrom, writeMeta } from './record.ts'
import { asked, request, stage } from './stage.test-support.ts'

let ground: Ground
let store: Store
let open: OpenedForTest['open']
execsForEach((opened) => ({ ground, store, open } = opened))

const find = async ({ exec_id }: ExecRow): Promise<ExecRow> => (await store.execs.find(exec_id)) as ExecRow
const left = async (change: Partial<ExecRow>): Promise<ExecRow> => {
  const row = { ...ground.exec(), owner: 'srv_dead', ...change }
  await writeMeta(ground.root, row, { sync: false })
  await store.execs.insert(row)
  return row
}
const ran = { status: 'RUNNING', boundary_id: 'sbx_0123456789', started_at: new Date().toISOString() } as const

const usual = 'glovebox/sandbox:latest'
const idOf = (name: string): string => `sha256:${name}`

/** A backend with images, whose own is `usual`. What it was asked for is told. */
function withImages(told: (string | null)[] = []): Boundaries {
  const { prepare, ...rest } = stage()
  return {
    ...rest,
    async prepare(wanted) {
      told.push(wanted.image)
      const name = wanted.image ?? usual
      const image: BackendImage = { name, id: idOf(name) }
      return { ...(await prepare(wanted)), image }
    },
  }
}

describe('the image of an exec', () => {
  it('is told by its record from its beginning on, and before only as it was asked for', async () => {
    const execs = await open({ boundaries: withImages(), limits: { maxConcurrent: 2 } })
    const { row: plain } = await execs.submit(asked('hang'))
    const { row: own } = await execs.submit(asked('', { request: request('hang', { image: 'team/tools:1' }) }))
    const { row: waiting } = await execs.submit(asked('hang'))
    expect([plain.image, own.image]).toEqual([null, 'team/tools:1'])
    for (const [row, image] of [[plain, usual] as const, [own, 'team/tools:1'] as const]) {
      await expect.poll(async () => (await find(row)).image_id).toBe(idOf(image))
      const begun = await find(row)
      expect(begun).toMatchObject({ status: 'RUNNING', image })
      await expect.poll(() => readMeta(ground.root, row)).toEqual(metaOf(ground.root, begun))
      expect(execs.record(begun)).toMatchObject({ image, image_id: idOf(image) })
      // Control: what an index made anew knows of it.
      expect(rowFrom(metaOf(ground.root, begun))).toMatchObject({ image_asked: row.image, image_id: idOf(image) })
      expect(await execs.cancel(row.exec_id)).toMatchObject({ status: 'CANCELLED', image, image_id: idOf(image) })
    }
    expect(waiting).toMatchObject({ image: null, image_id: null })
  })

  it('is none where the backend has no images', async () => {
    const execs = await open()
    const { row } = await execs.submit(asked('exit 0'))
    expect(await execs.wait(row.exec_id)).toMatchObject({ status: 'SUCCEEDED', image: null, image_id: null })
  })

  it('is asked for anew, as it was at first, by an exec that goes back into the queue', async () => {
    const begun = { ...ran, args: ['-lc', 'exit 0'], backend: 'docker', image_id: idOf('before') }
    await left({ ...begun, image: 'before', image_asked: null })
    await left({ ...begun, boundary_id: 'sbx_9876543210', image: 'team/tools:1', image_asked: 'team/tools:1' })
    const told: (string | null)[] = []
    await open({ boundaries: { ...withImages(told), findAgain: async () => 'unbegun' } })
    await expect.poll(() => told).toHaveLength(2)
    expect(new Set(told)).toEqual(new Set([null, 'team/tools:1']))
  })

  it('is what was asked for in a record of an earlier version', () => {
    const row = ground.exec({ ...ran, image: 'team/tools:1', image_asked: 'team/tools:1' })
    const { image_id: _id, image_asked: _asked, ...earlier } = metaOf(ground.root, row)
    writeFileSync(recordPlace(ground.root, row, 'meta.json'), JSON.stringify(earlier))
    const read = readMeta(ground.root, row)
    expect(read).toEqual({ ...earlier, image_id: null, image_asked: null })
    expect(rowFrom(read as ExecMeta)).toMatchObject({ image: 'team/tools:1', image_asked: 'team/tools:1' })
  })
})

describe('the policy of an exec', () => {
  const own: PolicyLayer = {
    layer: 'settings',
    source: 'test',
    values: { env: ['LANG'], protect: ['deploy.sh'], denyRead: ['/workspace/work/hidden'], memoryMb: 512 },
  }
  const resolve = (values: PolicyValues): ResolvedPolicy =>
    resolvePolicy([own, { layer: 'request', source: 'test', values }])
  /** A server with settings of its own. */
  const withSettings = (): Boundaries => {
    const { prepare, ...rest } = stage()
    return {
      ...rest,
      resolve,
      prepare: async (wanted) => ({ ...(await prepare(wanted)), policy: resolve(wanted.values).effective }),
    }
  }

  it('is told by its record as it is in force, where it was taken under another one', async () => {
    const before = { ...toSnapshot(resolvePolicy([]).effective), timeout_ms: 1234, protect: ['Makefile'] }
    const row = await left({ status: 'QUEUED', owner: null, args: ['-lc', 'hang'], policy_snapshot: before })
    const execs = await open({ boundaries: withSettings() })
    // What its request asked for, or had by default, stays as it was.
    const limits = { timeoutMs: 1234, memoryMb: before.memory_mb }
    const inForce = toSnapshot(resolve(limits).effective)
    expect(inForce).toMatchObject({ env: ['LANG'], deny_read: ['/workspace/work/hidden'], timeout_ms: 1234 })
    await expect.poll(async () => (await find(row)).boundary_id).not.toBe(null)
    const begun = await find(row)
    expect(begun.policy_snapshot).toEqual(inForce)
    await expect.poll(() => readMeta(ground.root, row)).toEqual(metaOf(ground.root, begun))
    expect(await execs.cancel(row.exec_id)).toMatchObject({ status: 'CANCELLED', policy_snapshot: inForce })
    expect(readMeta(ground.root, row)).toMatchObject({ status: 'CANCELLED', policy_snapshot: inForce })
  })

  it('stays as it was told where it is the same', async () => {
    const execs = await open({ boundaries: withSettings() })
    const { row } = await execs.submit(asked('exit 0'))
    expect(await execs.wait(row.exec_id)).toMatchObject({ policy_snapshot: row.policy_snapshot })
  })
})
