import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HostPath } from '../../contract/mount.ts'
import { openSnapshotIndex } from './snapshot-index.ts'
import { deleteSnapshot, newSnapshotId, snapshotFile, snapshotPlace, type SnapshotRecord } from './snapshots.ts'

let state: HostPath
beforeEach(() => (state = mkdtempSync(join(tmpdir(), 'glovebox-snapshot-index-')) as HostPath))
afterEach(() => rmSync(state, { recursive: true, force: true }))

function made(change: Partial<SnapshotRecord> = {}): SnapshotRecord {
  const record: SnapshotRecord = {
    version: 1,
    id: newSnapshotId(),
    project: 'p',
    name: null,
    sandbox_id: 'sbx_0123456789abcdef',
    token_id: null,
    layout: 'workspace',
    created_at: new Date().toISOString(),
    layers: [],
    by: 'copy',
    why: 'x',
    is_deleted: false,
    ...change,
  }
  const place = snapshotPlace(state, record.id)
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, snapshotFile), JSON.stringify(record))
  return record
}
const idsOf = (records: readonly SnapshotRecord[]): readonly string[] => records.map(({ id }) => id).toSorted()

describe('what is remembered of snapshots', () => {
  it('is nothing where there are none', async () => {
    const index = openSnapshotIndex(state)
    await index.refresh()
    expect(index.known()).toEqual([])
  })

  it('is brought up to date with what others make, delete and sweep', async () => {
    const [kept, deleted, swept] = [made(), made(), made()]
    const index = openSnapshotIndex(state)
    await index.refresh()
    expect(idsOf(index.known())).toEqual(idsOf([kept, deleted, swept]))
    const later = made()
    await deleteSnapshot(state, deleted)
    rmSync(snapshotPlace(state, swept.id), { recursive: true })
    await index.refresh()
    expect(idsOf(index.known())).toEqual(idsOf([kept, later]))
  })

  it('has what was made just now before the next look', async () => {
    const index = openSnapshotIndex(state)
    await index.refresh()
    const record = made()
    index.look(record.id)
    expect(idsOf(index.known())).toEqual([record.id])
    await deleteSnapshot(state, record)
    index.look(record.id)
    expect(index.known()).toEqual([])
  })

  it('leaves out what cannot be read', async () => {
    const [record, damaged] = [made(), made()]
    writeFileSync(join(snapshotPlace(state, damaged.id), snapshotFile), '{')
    const index = openSnapshotIndex(state)
    await index.refresh()
    expect(idsOf(index.known())).toEqual([record.id])
  })

  it('is looked at a piece at a time, and whoever asks meanwhile is told what was there when he asked', async () => {
    for (let count = 0; count < 200; count++) made()
    const index = openSnapshotIndex(state)
    let turns = 0
    const turn = (): void => {
      turns += 1
      if (turns < 1000) setImmediate(turn)
    }
    setImmediate(turn)
    const first = index.refresh()
    // It sorts before all others, which the look under way has begun with.
    const early = made({ id: `snap_${'0'.repeat(32)}` })
    await Promise.all([index.refresh(), index.refresh()])
    expect(index.known()).toHaveLength(201)
    expect(idsOf(index.known())[0]).toBe(early.id)
    await first
    expect(turns).toBeGreaterThan(10)
    turns = 1000
  })
})
