import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HostPath } from '../../contract/mount.ts'
import type { Use } from '../../pool/ports.ts'
import { openLifetimes, type Lifetimes, type LifetimesOptions } from './lifetimes.ts'
import type { Member } from './member.ts'
import { memberPlace } from './place.ts'
import { readRecord, replaceRecord, writeFirstRecord, type MemberRecord } from './record.ts'
import { firstRecord } from './request.ts'
import { listSnapshots, snapshotPlace } from './snapshots.ts'

const id = 'sbx_0123456789abcdef'
let state: HostPath
let directory: HostPath
let record: MemberRecord
let lifetimes: Lifetimes
let pool: LifetimesOptions['pool']
let works: number
let steps: string[]
let cannotOpen: boolean
let isLost: boolean
let uses: Use[]
let onOpen: () => Promise<void>

/** With nothing behind it but its files. */
function memberOf(): Member {
  const member = {
    id,
    get record() {
      return record
    },
    isOver: false,
    tenure: {
      begin(use?: Use) {
        works += 1
        if (use !== undefined) uses.push(use)
        return { end: () => (works -= 1), isLost }
      },
    },
    shut: async () => void steps.push('shut'),
    async open() {
      if (cannotOpen) throw new Error('it cannot be opened')
      steps.push('open')
      mkdirSync(join(directory, 'workspace'), { recursive: true })
      await onOpen()
    },
    async keep(changed: MemberRecord) {
      await replaceRecord(directory, changed)
      record = changed
    },
  }
  return member as unknown as Member
}

function poolOf(member: Member): LifetimesOptions['pool'] {
  let isHere = true
  const there = {
    find: () => (isHere ? member : undefined),
    use: () => (isHere ? member : undefined),
    list: () => [{ id, works }],
    async open() {
      await member.open()
      isHere = true
      return { handle: member }
    },
    async rest() {
      steps.push('rest')
      isHere = false
    },
    async destroy() {
      steps.push('destroy')
      isHere = false
    },
    acquire: () => Promise.reject(new Error('no place is free')),
  }
  return there as unknown as LifetimesOptions['pool']
}

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'glovebox-lifetimes-')) as HostPath
  record = firstRecord(id, null, {}, { backend: 'bwrap', layout: 'workspace', lifeMs: 60_000 })
  directory = memberPlace(state, id)
  mkdirSync(join(directory, 'workspace'), { recursive: true })
  writeFileSync(join(directory, 'workspace', 'note'), 'kept')
  writeFirstRecord(directory, record)
  works = 0
  steps = []
  cannotOpen = false
  isLost = false
  uses = []
  onOpen = async () => {}
  pool = poolOf(memberOf())
  const members = { read: () => record, records: () => [record], hasEnded: () => false, makeRoom: () => {} }
  lifetimes = openLifetimes({
    state,
    pool,
    members: members as unknown as LifetimesOptions['members'],
    methodFor: async () => ({ by: 'overlay', why: null }),
  })
})
afterEach(() => rmSync(state, { recursive: true, force: true }))

describe('the files of a sandbox', () => {
  it('are carried away by one at a time, and none of them is lost', async () => {
    const taken = await Promise.all([0, 1, 2].map(() => lifetimes.snapshot(id, { name: null })))
    expect(record.layers).toEqual(taken.map((each) => each.id).toReversed())
    expect(readRecord(directory)).toMatchObject({ layers: record.layers, snapshotting: null })
    const holds = record.layers.filter((layer) => existsSync(join(snapshotPlace(state, layer), 'workspace', 'note')))
    expect(holds).toEqual([taken[0]?.id])
  })

  it('are told truly by a record that is changed and renewed at the same time', async () => {
    const [taken] = await Promise.all([
      lifetimes.snapshot(id, { name: null }),
      lifetimes.inTurn(id, (member) => member.keep({ ...member.record, name: 'changed' })),
      lifetimes.renew(id, 120_000),
    ])
    expect(record).toMatchObject({ layers: [taken.id], name: 'changed', life_ms: 120_000 })
    expect(readRecord(directory)).toMatchObject({ layers: [taken.id], name: 'changed', life_ms: 120_000 })
  })

  it('are not left open by a snapshot that is asked for while it is paused', async () => {
    await Promise.all([lifetimes.pause(id), lifetimes.snapshot(id, { name: null })])
    expect(steps).toEqual(['rest', 'open', 'shut', 'open'])
  })

  it('stay where they are while something runs among them', async () => {
    works = 1
    await expect(lifetimes.snapshot(id, { name: null })).rejects.toMatchObject({ code: 'BUSY' })
    expect([steps, existsSync(join(directory, 'workspace', 'note'))]).toEqual([[], true])
  })

  it('go when they have been carried away, and not from under whoever carries them', async () => {
    const taking = lifetimes.snapshot(id, { name: null })
    await lifetimes.destroy(id)
    expect([steps, works]).toEqual([['shut', 'open', 'destroy'], 0])
    expect(existsSync(join(snapshotPlace(state, (await taking).id), 'workspace', 'note'))).toBe(true)
  })

  it('are not opened again where their life ended while they were carried away', async () => {
    const taking = lifetimes.snapshot(id, { name: null })
    await pool.rest(id)
    await taking
    expect(steps).toEqual(['rest', 'shut'])
  })

  it('are kept nowhere where the lease on the sandbox was lost while they were carried away', async () => {
    isLost = true
    await expect(lifetimes.snapshot(id, { name: null })).rejects.toMatchObject({ code: 'SANDBOX_GONE' })
    expect([await listSnapshots(state), existsSync(join(directory, 'workspace', 'note'))]).toEqual([[], true])
  })

  it('are carried away while nobody else can have it and its age ends nothing', async () => {
    const taking = lifetimes.snapshot(id, { name: null })
    await expect.poll(() => uses).toEqual([{ isAlone: true }])
    await taking
  })

  it('are left closed where its life ends while it is opened again', async () => {
    onOpen = () => pool.rest(id)
    await lifetimes.snapshot(id, { name: null })
    expect(steps).toEqual(['shut', 'open', 'rest', 'shut'])
  })

  it('are kept nowhere by a fork that came to nothing', async () => {
    await expect(lifetimes.fork(id, { count: 1, tokenId: 'tok_1' })).rejects.toThrow('no place is free')
    expect((await listSnapshots(state)).filter((each) => !each.is_deleted)).toEqual([])
    cannotOpen = true
    await expect(lifetimes.fork(id, { count: 1, tokenId: 'tok_1' })).rejects.toThrow('cannot be opened')
    expect((await listSnapshots(state)).filter((each) => !each.is_deleted)).toEqual([])
  })
})
