import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { ExecRow, Store } from '../contract/store.ts'
import type { Boundaries } from './boundaries.ts'
import { noExecFailpoint } from './failpoints.ts'
import type { Ground } from './ground.test-support.ts'
import { recordPlace } from './layout.ts'
import { execsForEach } from './opened.test-support.ts'
import { metaOf, readMeta, writeMeta } from './record.ts'
import { recoverOwned, type RecoverParts } from './recover.ts'
import { openReserve } from './reserve.ts'
import { exit, play, stage } from './stage.test-support.ts'
import { openStrays } from './strays.ts'
import { openWork } from './work.ts'

let ground: Ground
let store: Store
execsForEach((opened) => ({ ground, store } = opened))

/** Execs whose environment this server has. */
const kept = new Set<string>()

function partsOf(boundaries: Boundaries, log: RecoverParts['log'] = () => {}): RecoverParts {
  const files = {
    root: ground.root,
    store,
    now: () => new Date(),
    log,
    standIns: [],
    failpoint: noExecFailpoint,
    reserve: openReserve(ground.root),
    knownEnds: new Map(),
    boundaries,
    onChange: () => {},
    mostTries: 1,
  }
  const work = openWork({ ...files, take: () => undefined, onGrown: () => {}, onLeft: () => {} })
  const isKept = (execId: string): boolean => kept.has(execId)
  return { ...files, self: 'srv_self', work, isKept, inHand: new Set() }
}

const left = async (change: Partial<ExecRow> = {}): Promise<ExecRow> => {
  const row = ground.exec({ owner: 'srv_self', ...change })
  await writeMeta(ground.root, row, { sync: false })
  await store.execs.insert(row)
  return row
}
const ran = (boundary_id: string) => ({ status: 'RUNNING', boundary_id, started_at: new Date().toISOString() }) as const
const find = async (row: ExecRow): Promise<ExecRow> => (await store.execs.find(row.exec_id)) as ExecRow

describe('an exec that nobody works on', () => {
  it('is ended where the answer to its canceller was lost, and not while it may be on its way', async () => {
    const lookForStrays = openStrays(partsOf(stage()))
    const [row, waiting] = [await left({ owner: null }), await left()]
    const at = new Date().toISOString()
    await store.execs.requestCancel(row.exec_id, { by: 'srv_self', at })
    const statuses: unknown[] = []
    for (let times = 0; times < 2; times++) {
      await lookForStrays()
      statuses.push((await find(row)).status)
    }
    expect(statuses).toEqual(['QUEUED', 'CANCELLED'])
    expect(readMeta(ground.root, row)).toMatchObject({
      status: 'CANCELLED',
      error_reason: 'cancelled',
      started_at: null,
      ended_at: at,
    })
    expect((await find(waiting)).status, 'control: what only waits goes on waiting').toBe('QUEUED')
  })

  it('is cared for whatever others cannot be, which are told of once and tried again', async () => {
    let isMended = false
    const told: string[] = []
    const destroy = async (id: string): Promise<void> => {
      if (id === 'sbx_broken' && !isMended) throw new Error('it does not go')
    }
    // The newest comes first.
    const other = await left({ ...ran('sbx_other'), created_at: '2026-01-01T00:00:00.000Z' })
    const broken = await left(ran('sbx_broken'))
    const lookForStrays = openStrays(partsOf({ ...stage(), destroy }, (about) => told.push(about)))
    for (let times = 0; times < 4; times++) await lookForStrays()
    expect((await find(other)).status).toBe('LOST')
    expect((await find(broken)).status).toBe('RUNNING')
    expect(told).toEqual([`${broken.exec_id} could not be recovered, and is tried again`])
    isMended = true
    await lookForStrays()
    expect((await find(broken)).status).toBe('LOST')
  })

  it('goes back into the queue where its server has what it needs, and is not run without it', async () => {
    const claimed = { status: 'RUNNING', started_at: new Date().toISOString(), env_keys: ['A'] } as const
    const [whole, lost] = [await left(claimed), await left(claimed)]
    kept.add(whole.exec_id)
    const lookForStrays = openStrays(partsOf(stage()))
    for (let times = 0; times < 2; times++) await lookForStrays()
    expect(await find(whole)).toMatchObject({ status: 'QUEUED', owner: 'srv_self', started_at: null })
    expect(readMeta(ground.root, whole)).toEqual(metaOf(ground.root, await find(whole)))
    expect(await find(lost)).toMatchObject({ status: 'FAILED', error_reason: 'environment_lost' })
  })

  it('is followed when its output can be kept again, and has not ended before', async () => {
    const findAgain: NonNullable<Boundaries['findAgain']> = async () => ({
      elapsedMs: () => 0,
      endedAgoMs: () => 0,
      run: async () => exit(0),
      close: async () => {},
      forget: async () => {},
    })
    const row = await left({ ...ran('sbx_0123456789'), owner: 'srv_dead' })
    const stderr = recordPlace(ground.root, row, 'stderr.txt')
    mkdirSync(stderr)
    const told: string[] = []
    const parts = partsOf({ ...stage(), findAgain }, (about) => told.push(about))
    await recoverOwned(parts, 'srv_dead')
    await parts.work.ended(row.exec_id)
    expect(told).toEqual([`${row.exec_id} goes on, and cannot be followed now`])
    expect(await find(row)).toMatchObject({ status: 'RUNNING', owner: 'srv_self' })
    rmSync(stderr, { recursive: true })
    const lookForStrays = openStrays(parts)
    for (let times = 0; times < 2; times++) await lookForStrays()
    await parts.work.ended(row.exec_id)
    expect(await find(row)).toMatchObject({ status: 'SUCCEEDED' })
  })

  it('is not one that is just being recovered: it is found again once, and keeps its fence', async () => {
    let looks = 0
    let release = (): void => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    const findAgain: NonNullable<Boundaries['findAgain']> = async () => {
      looks += 1
      await released
      return {
        elapsedMs: () => 0,
        endedAgoMs: () => 0,
        run: async ({ onStdout }) => {
          await onStdout(Buffer.from('said once'))
          return exit(5)
        },
        close: async () => {},
        forget: async () => {},
      }
    }
    const row = await left({ ...ran('sbx_0123456789'), owner: 'srv_dead' })
    const parts = partsOf({ ...stage(), findAgain })
    const recovering = recoverOwned(parts, 'srv_dead')
    await expect.poll(() => looks).toBe(1)
    const lookForStrays = openStrays(parts)
    for (let times = 0; times < 3; times++) await lookForStrays()
    release()
    await recovering
    await parts.work.ended(row.exec_id)
    expect(looks).toBe(1)
    expect(await find(row)).toMatchObject({ status: 'FAILED', exit_code: 5, fence: row.fence + 1 })
    expect(readFileSync(recordPlace(ground.root, row, 'stdout.txt'), 'utf8')).toBe('said once')
  })
})

describe('an exec that comes to a server again while that one still ends what it had of it', () => {
  it('begins when nothing of the first time is at work any more', async () => {
    const seen: string[] = []
    const { work } = partsOf(
      stage(async (_, following) => {
        const isFirst = seen.length === 0
        seen.push(isFirst ? 'first began' : 'second began')
        const end = isFirst ? await play('hang', following) : exit(0)
        seen.push(isFirst ? 'first ended' : 'second ended')
        return end
      }),
    )
    const row = await left(ran('sbx_0123456789'))
    const first = work.run(row)
    await expect.poll(() => seen).toEqual(['first began'])
    const again = (await store.execs.takeOver(row.exec_id, { from: 'srv_self', to: 'srv_self' })) as ExecRow
    const second = work.run(again)
    await Promise.all([first, second])
    expect(seen).toEqual(['first began', 'first ended', 'second began', 'second ended'])
    expect(work.ids).toEqual([])
    expect(await find(row)).toMatchObject({ status: 'SUCCEEDED', fence: again.fence })
  })
})
