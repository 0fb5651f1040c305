import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import { memberPlace } from './place.ts'
import { readRecord, replaceRecord, writeFirstRecord, type MemberRecord } from './record.ts'
import { openIndex } from './records.ts'
import { firstRecord } from './request.ts'
import { sweepSnapshots } from './snapshot-sweep.ts'
import { deleteSnapshot, findSnapshot, snapshotPlace, takeSnapshot, type SnapshotRecord } from './snapshots.ts'

let state: HostPath
const overlay = { by: 'overlay', why: null } as const

function memberWith(id: SandboxId, files = 1): MemberRecord {
  const member = firstRecord(id, null, {}, { backend: 'bwrap', layout: 'workspace', lifeMs: 1000 })
  const directory = memberPlace(state, id)
  mkdirSync(join(directory, 'workspace'), { recursive: true })
  for (let file = 0; file < files; file++) writeFileSync(join(directory, 'workspace', String(file)), '')
  writeFirstRecord(directory, member)
  return member
}
const taken = async (member: MemberRecord): Promise<SnapshotRecord> =>
  (await takeSnapshot(state, { member, name: null, method: overlay })).snapshot
const remove = ({ id }: MemberRecord): void => rmSync(memberPlace(state, id), { recursive: true })
const [one, two] = ['sbx_0123456789abcdef', 'sbx_fedcba9876543210'] as const

beforeEach(() => (state = mkdtempSync(join(tmpdir(), 'glovebox-sweep-')) as HostPath))
afterEach(() => rmSync(state, { recursive: true, force: true }))

describe('a snapshot that was deleted', () => {
  it('stays until nothing stands on it', async () => {
    const member = memberWith(one)
    const snapshot = await taken(member)
    await deleteSnapshot(state, snapshot)
    expect(await sweepSnapshots(state)).toBe(0)
    expect(findSnapshot(state, snapshot.id)).toMatchObject({ is_deleted: true })
    remove(member)
    expect(await sweepSnapshots(state)).toBe(1)
    expect(readdirSync(join(state, 'snapshots'))).toEqual([])
  })

  it('stays where another process has come to stand on it, of which nobody here has heard', async () => {
    const member = memberWith(one)
    const index = openIndex(state)
    expect(index.all()).toMatchObject([{ layers: [] }])
    const snapshot = await taken(member)
    await deleteSnapshot(state, snapshot)
    expect(index.all(), 'what this process remembers').toMatchObject([{ layers: [] }])
    expect(await sweepSnapshots(state)).toBe(0)
    expect(existsSync(snapshotPlace(state, snapshot.id))).toBe(true)
  })

  it('stays while one that was not deleted is seen through it', async () => {
    const member = memberWith(one)
    const lower = await taken(member)
    await replaceRecord(memberPlace(state, one), readRecord(memberPlace(state, one))!)
    mkdirSync(join(memberPlace(state, one), 'workspace'))
    const upper = await taken(readRecord(memberPlace(state, one))!)
    await deleteSnapshot(state, lower)
    remove(member)
    expect(await sweepSnapshots(state)).toBe(0)
    await deleteSnapshot(state, upper)
    expect(await sweepSnapshots(state)).toBe(2)
  })

  it('is swept once, however many do so at the same time', async () => {
    const members = [memberWith(one), memberWith(two)]
    const snapshots = await Promise.all(members.map(taken))
    members.forEach(remove)
    await Promise.all(snapshots.map((each) => deleteSnapshot(state, each)))
    const gone = await Promise.all([0, 1, 2].map(() => sweepSnapshots(state)))
    expect(gone.reduce((sum, each) => sum + each)).toBe(2)
    expect(readdirSync(join(state, 'snapshots'))).toEqual([])
  })

  it('is out of sight before its bytes go, and others have their turns meanwhile', async () => {
    const member = memberWith(one, 500)
    const snapshot = await taken(member)
    remove(member)
    await deleteSnapshot(state, snapshot)
    let turns = 0
    let wasHalf = false
    const place = snapshotPlace(state, snapshot.id)
    const others = setInterval(() => {
      turns += 1
      wasHalf ||= existsSync(place) && readdirSync(join(place, 'workspace')).length < 500
    }, 0)
    await sweepSnapshots(state)
    clearInterval(others)
    expect([turns > 0, wasHalf]).toEqual([true, false])
    expect(readdirSync(join(state, 'snapshots'))).toEqual([])
  })
})
