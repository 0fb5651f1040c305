import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ExecRow, Store } from '../contract/store.ts'
import { openStore } from '../store/open.ts'
import { openExecs, type Execs } from './execs.ts'
import { makeGround, someRow, type Ground } from './ground.test-support.ts'
import { readMeta, writeMeta } from './record.ts'
import { stage } from './stage.test-support.ts'
import { needsUnrecorded, openUnrecorded } from './unrecorded.ts'

const withSecret = { ...someRow().policy_snapshot, secrets: ['keys/token'] }
const unrecorded = { env: {}, secrets: [], values: {} }

describe('what is in no record', () => {
  it('is needed for a variable and for a secret, which may be a file and set none', () => {
    expect(needsUnrecorded(someRow())).toBe(false)
    expect(needsUnrecorded(someRow({ env_keys: ['A'] }))).toBe(true)
    expect(needsUnrecorded(someRow({ policy_snapshot: withSecret }))).toBe(true)
    expect(needsUnrecorded(someRow({ policy_snapshot: null }))).toBe(false)
  })

  it('is kept for an exec that needs it, however many come after', () => {
    const kept = openUnrecorded()
    const needed = {
      variable: { ...unrecorded, env: { A: 'b' } },
      file: { ...unrecorded, secrets: [{ name: 'keys/token', file: 'token' }] },
    }
    for (const [execId, each] of Object.entries({ ...needed, helpful: unrecorded })) kept.keep(execId, each)
    for (let index = 0; index < 5000; index++) kept.keep(`exec_${index}`, unrecorded)
    for (const [execId, each] of Object.entries(needed)) expect(kept.take(execId)).toBe(each)
    expect(kept.take('helpful'), 'control: what only helps is bounded').toBeUndefined()
  })
})

describe('what was kept for an exec', () => {
  it('is let go of when the exec has ended without it, and not before', async () => {
    const kept = openUnrecorded()
    const needed = { ...unrecorded, env: { A: 'b' } }
    const rows = new Map([
      ['queued', someRow()],
      ['cancelled elsewhere', someRow({ status: 'CANCELLED' })],
    ])
    for (const execId of [...rows.keys(), 'just coming']) kept.keep(execId, needed)
    await kept.letGoOfEnded(async (execId) => rows.get(execId))
    expect(kept.take('cancelled elsewhere')).toBeUndefined()
    expect(kept.take('queued')).toBe(needed)
    expect(kept.take('just coming')).toBe(needed)
  })
})

describe('an exec that needs what is in no record', () => {
  let ground: Ground
  let store: Store
  let execs: Execs | undefined
  beforeEach(async () => {
    ground = makeGround()
    await mkdir(join(ground.outside, 'state'))
    store = await openStore({ url: join(ground.outside, 'state', 'glovebox.db') })
  })
  afterEach(async () => {
    await execs?.close()
    await store.close()
    ground.remove()
  })

  const needs: Readonly<Record<string, Partial<ExecRow>>> = {
    'a variable': { env_keys: ['TOKEN'] },
    'a secret as a file': { policy_snapshot: withSecret },
  }
  const stands: Readonly<Record<string, Partial<ExecRow>>> = {
    'left in the queue by a dead server': { owner: 'srv_dead' },
    'claimed by a dead server': { owner: 'srv_dead', status: 'RUNNING', started_at: new Date().toISOString() },
    // However it came there: who takes it has nothing to run it with.
    'taken from the queue': { owner: null },
  }
  const cases = Object.keys(needs).flatMap((need) => Object.keys(stands).map((stand) => [need, stand] as const))
  it.each(cases)('is not run without it: %s, %s', async (need, stand) => {
    const change = { ...needs[need], ...stands[stand] }
    const row = ground.exec(change)
    await writeMeta(ground.root, row, { sync: false })
    await store.execs.insert(row)
    const begun: string[] = []
    const boundaries = stage(async (script) => {
      begun.push(script)
      return { by: 'exit', code: 0 }
    })
    execs = await openExecs({ store, root: ground.root, boundaries })
    const ended = { status: 'FAILED', error_reason: 'environment_lost', exit_code: null }
    expect(await execs.wait(row.exec_id)).toMatchObject(ended)
    expect(readMeta(ground.root, row)).toMatchObject(ended)
    expect(begun).toEqual([])
  })
})
