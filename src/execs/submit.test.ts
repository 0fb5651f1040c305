import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ExecRequest } from '../contract/exec-record.ts'
import type { ExecRow, ExecTable, Store } from '../contract/store.ts'
import { isInDoubt } from '../errors/doubt.ts'
import { GloveboxError, isGloveboxError } from '../errors/error.ts'
import { openStore } from '../store/open.ts'
import { defaultLimits, openExecs } from './execs.ts'
import { noExecFailpoint } from './failpoints.ts'
import { makeGround, type Ground } from './ground.test-support.ts'
import { openInputQuota } from './input-quota.ts'
import { execPlace, inputsPlace } from './layout.ts'
import { asked, exit, request, stage } from './stage.test-support.ts'
import { openSubmit, type Asked, type SubmitParts } from './submit.ts'
import type { Unrecorded } from './work.ts'

let ground: Ground
let store: Store
let kept: Map<string, Unrecorded>
beforeEach(async () => {
  ground = makeGround()
  kept = new Map()
  await mkdir(join(ground.outside, 'state'))
  store = await openStore({ url: join(ground.outside, 'state', 'glovebox.db') })
})
afterEach(async () => {
  await store.close()
  ground.remove()
})

const partsOf = (change: Partial<SubmitParts> = {}): SubmitParts => ({
  root: ground.root,
  store,
  boundaries: stage(),
  making: { guest: undefined, standIns: [] },
  self: 'srv_self',
  now: () => new Date(),
  failpoint: noExecFailpoint,
  reserve: async () => () => {},
  keep: (execId, unrecorded) => void kept.set(execId, unrecorded),
  take: (execId) => kept.delete(execId),
  doubts: { settle: (row) => store.execs.wasInserted(row) },
  inputQuota: openInputQuota(ground.root, defaultLimits),
  ...change,
})

const withValue = (change: Partial<Asked> = {}): Asked =>
  asked('', { request: { exec: { kind: 'shell', command: 'hello', env: { A: 'b' } } }, ...change })

/** Something happens to a row as soon as it is in the store, and before its first record is written. */
const afterInsert = (meanwhile: (row: ExecRow) => Promise<void> | void): Store => {
  const insert: ExecTable['insert'] = async (row, options) => {
    const claim = await store.execs.insert(row, options)
    await meanwhile(row)
    return claim
  }
  return { ...store, execs: { ...store.execs, insert } }
}

/** Nothing can be written down of it any more. */
const loseDirectory = (row: ExecRow): void => rmSync(execPlace(ground.root, row), { recursive: true })

const directories = (): readonly string[] => {
  const place = join(ground.root, 'projects', 'project', 'artifacts')
  return existsSync(place) ? readdirSync(place) : []
}

describe('a request that is not taken', () => {
  it('brings no input where another server was quicker with its key', async () => {
    const bring = (content: string): ExecRequest => ({ ...request('hello'), inputs: [{ path: 'a.txt', content }] })
    const ofOther = asked('', { request: bring('theirs'), key: 'k', bodySha256: 'b'.repeat(64) })
    // Theirs is stored between our look at the key and our own row.
    const beforeInsert: ExecTable['insert'] = async (row, options) => {
      await openSubmit(partsOf())(ofOther)
      return store.execs.insert(row, options)
    }
    const submit = openSubmit(partsOf({ store: { ...store, execs: { ...store.execs, insert: beforeInsert } } }))
    const refused = submit(asked('', { request: bring('ours'), key: 'k' }))
    await expect(refused).rejects.toMatchObject({ code: 'IDEMPOTENCY_MISMATCH' })
    expect(readdirSync(inputsPlace(ground.root, 'project'))).toEqual([])
    const [left = '', ...more] = directories()
    expect(more).toEqual([])
    const waiting = join(ground.root, 'projects/project/artifacts', left, '.inputs/a.txt')
    expect(readFileSync(waiting, 'utf8')).toBe('theirs')
  })

  it('leaves no value and no directory behind where its row cannot be stored', async () => {
    const submit = openSubmit(partsOf())
    await store.close()
    await expect(submit(withValue())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect([...kept]).toEqual([])
    expect(directories()).toEqual([])
  })

  it('leaves no value behind where another server was quicker with its key', async () => {
    let coming = 0
    let meet = (): void => {}
    const met = new Promise<void>((resolve) => (meet = resolve))
    // All have looked for the key, and found none, before any of them stores it.
    const reserve = async (): Promise<() => void> => {
      if (++coming === 3) meet()
      await met
      return () => {}
    }
    const bodies = ['a', 'a', 'b'].map((letter) => withValue({ key: 'k', bodySha256: letter.repeat(64) }))
    const settled = await Promise.allSettled(bodies.map((body) => openSubmit(partsOf({ reserve }))(body)))
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
    const rows = (await store.execs.list({}, { limit: 10 })).rows.map(({ exec_id }) => exec_id)
    expect(rows).toHaveLength(1)
    expect([...kept.keys()]).toEqual(rows)
    expect(directories()).toEqual(rows)
  })

  it('leaves nothing behind where its first record cannot be written, and sent again under its key it runs once', async () => {
    const submit = openSubmit(partsOf({ store: afterInsert(loseDirectory) }))
    await expect(submit(withValue({ key: 'k' }))).rejects.toMatchObject({ code: 'ENOENT' })
    expect([...kept]).toEqual([])
    expect(await store.execs.count({})).toBe(0)

    const begun: string[] = []
    const boundaries = stage(async (script) => {
      begun.push(script)
      return exit(0)
    })
    const execs = await openExecs({ store, root: ground.root, boundaries })
    try {
      const { row, isRepeated } = await execs.submit(withValue({ key: 'k' }))
      expect(isRepeated).toBe(false)
      expect(await execs.wait(row.exec_id)).toMatchObject({ status: 'SUCCEEDED' })
      expect(await execs.submit(withValue({ key: 'k' }))).toMatchObject({
        isRepeated: true,
        row: { exec_id: row.exec_id },
      })
      expect(begun).toEqual(['hello'])
    } finally {
      await execs.close()
    }
  })
})

describe('a request that could neither be recorded nor taken back', () => {
  it('is told as one of which nobody knows, and keeps what its exec needs', async () => {
    const { execs, ...rest } = afterInsert(loseDirectory)
    const full = new GloveboxError('NO_SPACE', 'Cannot write to the database: the disk or the quota is full')
    const withdraw: ExecTable['withdraw'] = () => Promise.reject(full)
    const submit = openSubmit(partsOf({ store: { ...rest, execs: { ...execs, withdraw } } }))
    const told: unknown = await submit(withValue()).catch((error: unknown) => error)
    const [row] = (await store.execs.list({}, { limit: 1 })).rows
    expect(told).toMatchObject({ code: 'NO_SPACE', facts: { exec_id: row?.exec_id } })
    expect(isInDoubt(told)).toBe(true)
    expect([...kept.keys()]).toEqual([row?.exec_id])
  })
})

describe('a request that policy refuses', () => {
  const beyond = (change: Partial<Asked> = {}): Asked =>
    asked('', { request: request('hello', { policy_overrides: { timeout_ms: 301_000 } }), key: 'k', ...change })
  const refusalOf = async (submitted: Promise<unknown>): Promise<unknown> => {
    const error = await submitted.catch((why: unknown) => why)
    if (!isGloveboxError(error)) throw new Error('it was taken', { cause: error })
    return { code: error.code, message: error.message, facts: error.facts }
  }

  it('is recorded once under its key, and refused in the same words as often as it comes', async () => {
    const submit = openSubmit(partsOf())
    const first = await refusalOf(submit(beyond()))
    expect(first).toMatchObject({ code: 'POLICY_ESCALATION', facts: { exec_id: expect.any(String) } })
    // Another server does not know what this one has just taken.
    const others = Array.from({ length: 3 }, () => openSubmit(partsOf()))
    for (const each of [submit, ...others]) expect(await refusalOf(each(beyond()))).toEqual(first)
    await expect(submit(beyond({ bodySha256: 'b'.repeat(64) }))).rejects.toMatchObject({ code: 'IDEMPOTENCY_MISMATCH' })
    const { rows } = await store.execs.list({}, { limit: 10 })
    expect(rows.map(({ status }) => status)).toEqual(['POLICY_DENIED'])
    expect(directories()).toEqual(rows.map(({ exec_id }) => exec_id))
  })

  it('is recorded once where it comes to many servers at once', async () => {
    const refusals = await Promise.all(Array.from({ length: 4 }, () => refusalOf(openSubmit(partsOf())(beyond()))))
    expect(new Set(refusals.map((each) => JSON.stringify(each))).size).toBe(1)
    expect(directories()).toHaveLength(1)
  })

  it('is refused under its key when the policy is another one', async () => {
    const first = await refusalOf(openSubmit(partsOf())(beyond()))
    const generous = { ...stage(), resolve: () => stage().resolve({}) }
    const second = await refusalOf(openSubmit(partsOf({ boundaries: generous }))(beyond()))
    expect([first, second]).toMatchObject([{ code: 'POLICY_ESCALATION' }, { code: 'POLICY_DENIED' }])
    expect(directories()).toHaveLength(1)
  })

  it('has a place while it is recorded, and finds none in a full queue', async () => {
    const places = new Set<string>()
    const reserve: SubmitParts['reserve'] = async ({ exec_id }) => {
      places.add(exec_id)
      return () => void places.delete(exec_id)
    }
    const seen: string[][] = []
    const looking = afterInsert(() => void seen.push([...places]))
    await refusalOf(openSubmit(partsOf({ reserve, store: looking }))(beyond()))
    expect(seen).toEqual([directories()])
    expect([...places]).toEqual([])
    const full = openSubmit(partsOf({ reserve: () => Promise.reject(new GloveboxError('TOO_MANY_REQUESTS', 'full')) }))
    expect(await refusalOf(full(beyond({ key: 'other' })))).toMatchObject({ code: 'TOO_MANY_REQUESTS' })
    expect(directories()).toHaveLength(1)
  })
})

describe('a request that is taken', () => {
  it('is not taken back once its exec was claimed, which is then recorded by whoever has it', async () => {
    const claimed = afterInsert(async (row) => {
      await store.execs.claimNext({ owner: 'srv_self', started_at: new Date().toISOString() })
      loseDirectory(row)
    })
    const { row } = await openSubmit(partsOf({ store: claimed }))(withValue({ key: 'k' }))
    expect(await store.execs.find(row.exec_id)).toMatchObject({ status: 'RUNNING', cancel_requested_at: null })
    expect([...kept.keys()]).toEqual([row.exec_id])
    expect(await store.idempotency.find({ project_id: 'project', key: 'k' })).toMatchObject({ subject: row.exec_id })
  })
})
