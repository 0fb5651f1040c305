import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ExecRow, Store } from '../contract/store.ts'
import { endingOf } from './ending.ts'
import { noExecFailpoint, type ExecFailpoint } from './failpoints.ts'
import { finishExec, type FinishParts, type Finished } from './finish.ts'
import type { Ground } from './ground.test-support.ts'
import { execPlace, recordPlace } from './layout.ts'
import { execsForEach } from './opened.test-support.ts'
import { readMeta } from './record.ts'
import { openReserve } from './reserve.ts'
import { exit } from './stage.test-support.ts'

let ground: Ground
let store: Store
execsForEach((opened) => ({ ground, store } = opened))

const succeeded: Finished = {
  ...endingOf(exit(0), undefined),
  duration_ms: 1,
  stdout_truncated: false,
  stderr_truncated: false,
}

/** As another process has them, which knows nothing of what this one did. */
const partsOf = (failpoint: ExecFailpoint = noExecFailpoint): FinishParts => ({
  root: ground.root,
  store,
  reserve: openReserve(ground.root),
  knownEnds: new Map(),
  standIns: [],
  failpoint,
  now: () => new Date(),
  log: () => {},
})

/** At this place, so many times. */
function failing(at: Parameters<ExecFailpoint>[0], times: number): ExecFailpoint {
  let left = times
  return (name) => {
    if (name === at && left-- > 0) throw Object.assign(new Error('EIO: of the test'), { code: 'EIO' })
  }
}

async function leftTooMuch(): Promise<ExecRow> {
  const policy_snapshot = { ...ground.exec().policy_snapshot, max_artifacts_bytes_total: 100 }
  const row = ground.exec({ status: 'RUNNING', owner: 'srv_self', boundary_id: 'sbx_one', policy_snapshot })
  await store.execs.insert(row)
  writeFileSync(join(ground.files(row), 'kept'), 'x'.repeat(10))
  writeFileSync(join(ground.files(row), 'large'), 'x'.repeat(1000))
  return row
}

const places = ['exec.end.beforeManifestRename', 'exec.end.beforeMeta', 'exec.end.beforeRow'] as const

describe('what is kept of an exec until its end is recorded', () => {
  it('is gone before its row says that it has ended, since nobody comes back to it behind that', async () => {
    const row = await leftTooMuch()
    let atUpdate: readonly string[] = []
    const update: Store['execs']['update'] = (...words) => {
      atUpdate = readdirSync(execPlace(ground.root, row)).toSorted()
      return store.execs.update(...words)
    }
    await finishExec({ ...partsOf(), store: { ...store, execs: { ...store.execs, update } } }, row, succeeded)
    expect(atUpdate).toEqual(['files', 'manifest.json', 'meta.json', 'stderr.txt', 'stdout.txt'])
  })
})

describe('an exec that left more than it may', () => {
  const expectOver = async (row: ExecRow): Promise<void> => {
    const over = { status: 'FAILED', error_reason: 'artifacts_limit_exceeded', exit_code: 0 }
    expect(await store.execs.find(row.exec_id)).toMatchObject(over)
    expect(readMeta(ground.root, row)).toMatchObject(over)
    expect(JSON.parse(readFileSync(recordPlace(ground.root, row, 'manifest.json'), 'utf8'))).toMatchObject({
      complete: false,
      over_limit: true,
      total_bytes: 10,
    })
    expect(readdirSync(execPlace(ground.root, row)).toSorted()).toEqual([
      'files',
      'manifest.json',
      'meta.json',
      'stderr.txt',
      'stdout.txt',
    ])
  }

  it.each(places)('has ended so also where its end could not be written at first: %s', async (place) => {
    const row = await leftTooMuch()
    await finishExec(partsOf(failing(place, 1)), row, succeeded)
    await expectOver(row)
  })

  it.each(places)('has ended so also where another process writes its end down: %s', async (place) => {
    const row = await leftTooMuch()
    await expect(finishExec({ ...partsOf(failing(place, 1)), mostTries: 1 }, row, succeeded)).rejects.toThrow('EIO')
    expect(await store.execs.find(row.exec_id)).toMatchObject({ status: 'RUNNING' })
    await finishExec(partsOf(), row, succeeded)
    await expectOver(row)
  })
})
