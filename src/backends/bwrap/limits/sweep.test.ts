import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newSandboxId, type SandboxId } from '../../../contract/ids.ts'
import { ownIdentity, type ProcessIdentity } from '../../../process/identity.ts'
import { findJournal, underLock, writeJournal } from '../../../guards/journal.ts'
import { limitGroupName } from './limits.ts'
import { forgetLimitGroup, recordLimitGroup, sweepLimitGroups } from './sweep.ts'

let area: string
let stateDir: string
let sandboxId: SandboxId
let group: string
beforeEach(() => {
  area = mkdtempSync(join(tmpdir(), 'glovebox-groups-'))
  stateDir = join(area, 'state')
  sandboxId = newSandboxId()
  group = join(area, limitGroupName(sandboxId))
  mkdirSync(group)
})
afterEach(() => rmSync(area, { recursive: true }))

const recordAs = (owner: ProcessIdentity, limitGroup: readonly string[]): Promise<void> =>
  underLock(stateDir, async () => writeJournal(stateDir, { sandboxId, owner, entries: [], limitGroup }))
const dead = (): ProcessIdentity => ({ ...ownIdentity(), startTime: '1' })

describe.skipIf(process.platform !== 'linux')('control groups in the journal (needs /proc)', () => {
  it('a group is on record until it is forgotten', async () => {
    await recordLimitGroup({ sandboxId, stateDir, directories: [group] })
    expect(findJournal(stateDir, sandboxId)?.limitGroup).toEqual([group])
    await forgetLimitGroup({ sandboxId, stateDir })
    await forgetLimitGroup({ sandboxId, stateDir })
    expect(findJournal(stateDir, sandboxId)).toBeUndefined()
  })

  it('the group of a living process is left alone', async () => {
    await recordLimitGroup({ sandboxId, stateDir, directories: [group] })
    expect(await sweepLimitGroups(stateDir)).toEqual({ removed: [], kept: [] })
    expect(existsSync(group)).toBe(true)
  })

  it('the group of a dead process is removed, whether or not it was ever made', async () => {
    await recordAs(dead(), [group, join(area, 'never', limitGroupName(sandboxId))])
    expect(await sweepLimitGroups(stateDir)).toEqual({ removed: [sandboxId], kept: [] })
    expect(existsSync(group)).toBe(false)
    expect(findJournal(stateDir, sandboxId)).toBeUndefined()
  })

  it('groups of an earlier boot are only forgotten', async () => {
    await recordAs({ ...ownIdentity(), bootId: 'earlier' }, [group])
    expect(await sweepLimitGroups(stateDir)).toEqual({ removed: [sandboxId], kept: [] })
    expect(existsSync(group)).toBe(true)
  })

  it('a journal that names a directory of another kind is not followed', async () => {
    const other = join(area, 'glovebox-other')
    mkdirSync(other)
    await recordAs(dead(), [other])
    expect(await sweepLimitGroups(stateDir)).toMatchObject({ removed: [], kept: [{ sandboxId }] })
    expect(existsSync(other)).toBe(true)
    expect(findJournal(stateDir, sandboxId)).toBeDefined()
  })

  it('a group that cannot be removed stays on record', async () => {
    await recordAs(dead(), [group])
    writeFileSync(join(group, 'file'), '')
    expect(await sweepLimitGroups(stateDir)).toMatchObject({ removed: [], kept: [{ sandboxId }] })
    expect(findJournal(stateDir, sandboxId)?.limitGroup).toEqual([group])
  })
})
