import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { HostPath } from '../../contract/mount.ts'
import { createTenure } from '../../pool/tenure.ts'
import { openServedBackends, type ServedBackends } from '../server/backends.ts'
import { openBootClock } from './clock.ts'
import type { Member } from './member.ts'
import { openMembers, type RealMembers } from './members.ts'
import { memberPlace, membersIn } from './place.ts'
import { writeFirstRecord } from './record.ts'
import { firstRecord } from './request.ts'
import { sweepSnapshots } from './snapshot-sweep.ts'
import { deleteSnapshot, snapshotPlace, takeSnapshot, type Method, type SnapshotRecord } from './snapshots.ts'

const id = 'sbx_fedcba9876543210'
const files = 20
let place: string
let state: HostPath
let backends: ServedBackends
let members: RealMembers
let snapshot: SnapshotRecord
let method: () => Promise<Method>
let made: Member | undefined

beforeEach(async () => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-beginning-')))
  state = join(place, 'state') as HostPath
  mkdirSync(state, { mode: 0o700 })
  vi.stubEnv('GLOVEBOX_STATE_DIR', state)
  const first = firstRecord('sbx_0123456789abcdef', null, {}, { backend: 'local', layout: 'workspace', lifeMs: 60_000 })
  const directory = memberPlace(state, first.id)
  mkdirSync(join(directory, 'workspace'), { recursive: true })
  for (let file = 0; file < files; file++) writeFileSync(join(directory, 'workspace', `${file}`), `${file}`)
  writeFirstRecord(directory, first)
  snapshot = (await takeSnapshot(state, { member: first, name: null, method: { by: 'copy', why: 'x' } })).snapshot
  backends = openServedBackends(['local'])
  method = async () => ({ by: 'copy', why: 'x' })
  members = openMembers({
    state,
    leasesAt: 'here',
    backends,
    layers: [],
    env: {},
    vaults: {},
    mounts: [],
    skills: undefined,
    defaults: { backend: 'local', layout: 'workspace', lifeMs: 60_000 },
    methodFor: () => method(),
  })
})
afterEach(async () => {
  await made?.shut()
  made = undefined
  await members.close()
  await backends.close()
  vi.unstubAllEnvs()
  rmSync(place, { recursive: true, force: true })
})

async function create(): Promise<Member> {
  const tenure = createTenure({ id, clock: openBootClock(), onRest: () => {} })
  tenure.hold({ token: 1, untilMs: Number.POSITIVE_INFINITY }, 'held')
  const request = { project: snapshot.project, snapshot: snapshot.id }
  made = await members.create(id, { key: null, request, tenure, former: { was: 'none' }, isUnheardOf: true })
  return made
}
const remove = async (): Promise<void> => {
  await deleteSnapshot(state, snapshot)
  await sweepSnapshots(state)
}
const copied = (): number => {
  const into = join(memberPlace(state, id), 'workspace')
  return existsSync(into) ? readdirSync(into).length : 0
}
const expectNothing = (): void => {
  expect(readdirSync(membersIn(state)).filter((name) => name.startsWith(id))).toEqual([])
  expect(members.known(id)).toBeUndefined()
}

describe('a sandbox that begins with a snapshot', () => {
  it('has all of its files', async () => {
    await create()
    expect(copied()).toBeGreaterThanOrEqual(files)
  })

  it('is not made where the snapshot is deleted while its files are copied', async () => {
    // A copy of so many takes many times as long as the deletion does.
    const many = 3000
    for (let file = files; file < many; file++)
      writeFileSync(join(snapshotPlace(state, snapshot.id), 'workspace', `${file}`), '')
    const creating = create()
    creating.catch(() => {})
    while (copied() < 5) await turn()
    expect(copied(), 'in the middle of it').toBeLessThan(many / 2)
    await remove()
    await expect(creating).rejects.toMatchObject({ code: 'NOT_FOUND', facts: { what: 'snapshot' } })
    expectNothing()
  })

  it.each(['copy', 'overlay'] as const)(
    '(by %s) is not made where it goes before the first of its files',
    async (by) => {
      method = async () => {
        await remove()
        return { by, why: null }
      }
      await expect(create()).rejects.toMatchObject({ code: 'NOT_FOUND', facts: { what: 'snapshot' } })
      expectNothing()
    },
  )

  it.each(['copy', 'overlay'] as const)('(by %s) is not made where it was only marked as deleted', async (by) => {
    method = async () => {
      await deleteSnapshot(state, snapshot)
      return { by, why: null }
    }
    await expect(create()).rejects.toMatchObject({ code: 'NOT_FOUND', facts: { what: 'snapshot' } })
    expectNothing()
  })
})
