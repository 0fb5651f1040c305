import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HostPath } from '../../contract/mount.ts'
import { memberPlace } from '../pool/place.ts'
import { writeFirstRecord } from '../pool/record.ts'
import { firstRecord } from '../pool/request.ts'
import { takeSnapshot } from '../pool/snapshots.ts'
import { countWork } from './at-work.ts'
import { openSnapshotHouse, type SnapshotHouse, type SnapshotHouseOptions } from './snapshots.ts'

const id = 'sbx_0123456789abcdef'
let state: HostPath
beforeEach(() => (state = mkdtempSync(join(tmpdir(), 'glovebox-snapshot-house-')) as HostPath))
afterEach(() => rmSync(state, { recursive: true, force: true }))

/** Of a server over the one directory. */
function open(): SnapshotHouse {
  const member = firstRecord(id, null, { project: 'p' }, { backend: 'bwrap', layout: 'workspace', lifeMs: 60_000 })
  const directory = memberPlace(state, id)
  mkdirSync(join(directory, 'workspace'), { recursive: true })
  writeFileSync(join(directory, 'workspace', 'note'), 'kept')
  writeFirstRecord(directory, member)
  const snapshot: SnapshotHouseOptions['lifetimes']['snapshot'] = async (_id, { name, tokenId, snapshotId }) => {
    const method = { by: 'copy', why: 'x' } as const
    return (await takeSnapshot(state, { id: snapshotId, member, name, tokenId, method })).snapshot
  }
  const lifetimes = { snapshot } as SnapshotHouseOptions['lifetimes']
  return openSnapshotHouse({ state, lifetimes, work: countWork(), limits: { snapshotsPerToken: 3 } })
}
const take = (house: SnapshotHouse, name: string) => house.take(id, { name, tokenId: 'tok_1' })
const namesOf = async (house: SnapshotHouse, limit = 10) =>
  (await house.list({ project: 'p' }, { limit })).rows.map(({ name }) => name)

describe('snapshots of several servers over one directory', () => {
  it('are listed by each, as soon as one has made or deleted them', async () => {
    const [one, other] = [open(), open()]
    expect([await namesOf(one), await namesOf(other)]).toEqual([[], []])
    const first = await take(one, 'first')
    await take(other, 'second')
    for (const house of [one, other]) expect(new Set(await namesOf(house))).toEqual(new Set(['first', 'second']))
    await other.delete(first)
    expect([await namesOf(one), await namesOf(other), one.find(first.id)]).toEqual([['second'], ['second'], undefined])
  })

  it('are counted by each for the token that took them', async () => {
    const [one, other] = [open(), open()]
    const first = await take(one, 'first')
    await take(one, 'second')
    const answers = await Promise.allSettled([take(other, 'third'), take(other, 'fourth')])
    expect(answers.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    await expect(take(one, 'fifth')).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    await other.delete(first)
    expect((await take(one, 'sixth')).name).toBe('sixth')
  })

  it('are deleted once, however many do so at the same time', async () => {
    const [one, other] = [open(), open()]
    for (let round = 0; round < 5; round++) {
      const taken = await take(one, 'mine')
      await Promise.all([one, other, one, other].map((house) => house.delete(taken)))
      expect(readdirSync(join(state, 'snapshots'))).toEqual([])
    }
  })

  it('are listed newest first, a page at a time', async () => {
    const house = open()
    for (const name of ['a', 'b', 'c']) {
      await take(house, name)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    const { rows, next } = await house.list({}, { limit: 2 })
    expect(rows.map(({ name }) => name)).toEqual(['c', 'b'])
    const rest = await house.list({}, { limit: 2, after: next ?? undefined })
    expect([rest.rows.map(({ name }) => name), rest.next]).toEqual([['a'], null])
  })
})
