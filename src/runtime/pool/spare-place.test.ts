import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newSandboxId } from '../../contract/ids.ts'
import type { HostPath } from '../../contract/mount.ts'
import { openScratch } from '../../process/scratch.ts'
import { memberPlace, membersIn } from './place.ts'
import { becomeMember, removePlace, sparesIn, sweepSpares } from './spare-place.ts'

// No process has had this number since the machine began.
const deadOwner = '@4194303.1.00000000-0000-0000-0000-000000000000.1'

describe('the place of a spare', () => {
  let state: HostPath
  beforeEach(() => {
    state = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-spares-'))) as HostPath
    mkdirSync(membersIn(state))
  })
  afterEach(() => rmSync(state, { recursive: true, force: true }))
  const makeSpare = (name = newSandboxId() as string): HostPath => {
    mkdirSync(sparesIn(state), { recursive: true })
    const directory = name.includes('@') ? join(sparesIn(state), name) : openScratch(sparesIn(state), name)
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, 'sandbox.json'), '{}')
    return directory as HostPath
  }

  it('a member that was a spare is found under its id, and goes whole', async () => {
    const [id, directory] = [newSandboxId(), makeSpare()]
    becomeMember(state, id, directory)
    expect(existsSync(join(memberPlace(state, id), 'sandbox.json'))).toBe(true)
    await removePlace(state, memberPlace(state, id))
    expect(existsSync(directory)).toBe(false)
    expect(existsSync(memberPlace(state, id))).toBe(false)
  })

  it('an id is given to one spare only', () => {
    const id = newSandboxId()
    becomeMember(state, id, makeSpare())
    expect(() => becomeMember(state, id, makeSpare())).toThrow('EEXIST')
  })

  it('a link to anywhere else is removed and not followed', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'glovebox-elsewhere-'))
    try {
      const place = memberPlace(state, newSandboxId())
      symlinkSync(elsewhere, place)
      await removePlace(state, place)
      expect(existsSync(place)).toBe(false)
      expect(existsSync(elsewhere)).toBe(true)
    } finally {
      rmSync(elsewhere, { recursive: true })
    }
  })

  it('a directory that was no spare is removed as it is', async () => {
    const place = memberPlace(state, newSandboxId())
    mkdirSync(place)
    await removePlace(state, place)
    expect(existsSync(place)).toBe(false)
  })

  it('spares of the dead are swept unless somebody has claimed them', () => {
    const [left, claimed, own] = [makeSpare(`a${deadOwner}`), makeSpare(`b${deadOwner}`), makeSpare()]
    becomeMember(state, newSandboxId(), claimed)
    sweepSpares(state)
    expect([left, claimed, own].map((place) => existsSync(place))).toEqual([false, true, true])
  })
})
