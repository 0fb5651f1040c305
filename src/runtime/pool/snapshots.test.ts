import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HostPath } from '../../contract/mount.ts'
import { memberPlace } from './place.ts'
import { readRecord, replaceRecord, writeFirstRecord, type MemberRecord } from './record.ts'
import { firstRecord } from './request.ts'
import { deleteSnapshot, findSnapshot, finishSnapshot, snapshotPlace, takeSnapshot } from './snapshots.ts'

let state: HostPath
let member: MemberRecord
let directory: string
const overlay = { by: 'overlay', why: null } as const
const note = (place: string): string => readFileSync(join(place, 'workspace', 'note'), 'utf8')

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'glovebox-snapshots-')) as HostPath
  member = firstRecord('sbx_0123456789abcdef', null, {}, { backend: 'bwrap', layout: 'workspace', lifeMs: 1000 })
  directory = memberPlace(state, member.id)
  mkdirSync(join(directory, 'workspace'), { recursive: true })
  writeFileSync(join(directory, 'workspace', 'note'), 'kept')
  writeFirstRecord(directory, member)
})
afterEach(() => rmSync(state, { recursive: true, force: true }))

describe('a snapshot', () => {
  it('by overlay is the files themselves, and the member stands on it', async () => {
    const taken = await takeSnapshot(state, { member, name: 'first', method: overlay })
    expect(note(snapshotPlace(state, taken.snapshot.id))).toBe('kept')
    expect(existsSync(join(directory, 'workspace'))).toBe(false)
    expect(readRecord(directory)).toMatchObject({ layers: [taken.snapshot.id], snapshotting: null })
  })

  it('by copy leaves the member as it was', async () => {
    const { snapshot, member: after } = await takeSnapshot(state, {
      member,
      name: null,
      method: { by: 'copy', why: 'x' },
    })
    expect([note(snapshotPlace(state, snapshot.id)), note(directory)]).toEqual(['kept', 'kept'])
    expect(after.layers).toEqual([])
  })

  it('that was cut off before it was whole gives the files back', async () => {
    const id = 'snap_' + '0'.repeat(32)
    const stage = join(state, 'snapshots', `.stage-${id}`)
    mkdirSync(stage, { recursive: true })
    await replaceRecord(directory, { ...member, snapshotting: id })
    renameSync(join(directory, 'workspace'), join(stage, 'workspace'))
    const finished = await finishSnapshot(state, { ...member, snapshotting: id })
    expect([note(directory), finished.snapshotting, finished.layers]).toEqual(['kept', null, []])
    expect(readdirSync(join(state, 'snapshots'))).toEqual([])
  })

  it('that was whole when its taker died is what the member stands on', async () => {
    const { snapshot } = await takeSnapshot(state, { member, name: null, method: overlay })
    // As if the last write had not taken place.
    await replaceRecord(directory, { ...member, snapshotting: snapshot.id })
    expect((await finishSnapshot(state, { ...member, snapshotting: snapshot.id })).layers).toEqual([snapshot.id])
    expect(readRecord(directory)?.layers).toEqual([snapshot.id])
  })

  it.each(['copy', 'overlay'] as const)(
    'by %s is not published where somebody else may have had the files meanwhile',
    async (by) => {
      const taking = takeSnapshot(state, { member, name: null, method: { by, why: null }, isLost: () => true })
      await expect(taking).rejects.toMatchObject({ code: 'SANDBOX_GONE' })
      expect(readdirSync(join(state, 'snapshots'))).toEqual([])
      expect([note(directory), readRecord(directory)]).toMatchObject(['kept', { layers: [], snapshotting: null }])
    },
  )

  it('by overlay of a sandbox that is thrown away in the middle leaves nothing behind, and says so', async () => {
    const isLost = (): boolean => {
      rmSync(directory, { recursive: true })
      return true
    }
    const taking = takeSnapshot(state, { member, name: null, method: overlay, isLost })
    await expect(taking).rejects.toMatchObject({ code: 'SANDBOX_GONE' })
    expect(readdirSync(join(state, 'snapshots'))).toEqual([])
  })

  it('that is gone already is deleted without a word', async () => {
    const { snapshot } = await takeSnapshot(state, { member, name: null, method: overlay })
    rmSync(snapshotPlace(state, snapshot.id), { recursive: true })
    await expect(deleteSnapshot(state, snapshot)).resolves.toBeUndefined()
  })

  it.each(['snap_../../etc', 'snap_', '../x', ''])('%j is no name of one', (id) => {
    expect(findSnapshot(state, id)).toBeUndefined()
  })
})
