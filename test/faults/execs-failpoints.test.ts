// A server that ends at each step of an exec's life, as kill -9 would end it there. On bubblewrap nothing outlives it: what had not begun
// begins, what had begun and not ended is LOST, and an end that was known stays true, however little of it was written down.
import { describe, expect, it } from 'vitest'
import type { ExecRecord } from '../../src/contract/exec-record.ts'
import { execFailpointNames, type ExecFailpointName } from '../../src/execs/failpoints.ts'
import { shell, startExecServer } from '../fixtures/exec-server.ts'
import { killedAtCancel } from './killed-cancel.ts'
import { killedAt } from './killed-exec-server.ts'

const succeeded = { status: 'SUCCEEDED', error_reason: null, exit_code: 0 } as const
const lost = { status: 'LOST', error_reason: 'server_crash', exit_code: null } as const

const ends: Readonly<Record<Exclude<ExecFailpointName, 'exec.cancel.beforeFiles'>, Partial<ExecRecord>>> = {
  'exec.accept.beforeRow': succeeded,
  'exec.accept.beforeMeta': succeeded,
  'exec.start.beforeName': succeeded,
  'exec.start.beforeCreate': succeeded,
  'exec.end.beforeRecord': lost,
  'exec.end.whileHashing': succeeded,
  'exec.end.beforeManifestRename': succeeded,
  'exec.end.beforeMeta': succeeded,
  'exec.end.beforeRow': succeeded,
  'exec.end.afterRow': succeeded,
}

describe('a server that is killed at a step of an exec', () => {
  const steps = execFailpointNames.filter((name) => name !== 'exec.cancel.beforeFiles')
  it.each(steps)('at %s: one exec, one end, true or LOST, and its files agree', async (name) => {
    const { wasReached, faults, end } = await killedAt(name)
    expect([wasReached, faults]).toEqual([true, []])
    expect(end).toMatchObject(ends[name])
  })
})

describe('a server that is killed while it cancels an exec of the queue', () => {
  const said = (row: string, meta: string) => ({ row, meta })
  it.each([
    ['exec.cancel.beforeFiles', said('QUEUED', 'QUEUED')],
    ['exec.end.beforeMeta', said('QUEUED', 'QUEUED')],
    ['exec.end.beforeRow', said('QUEUED', 'CANCELLED')],
    ['exec.end.afterRow', said('CANCELLED', 'CANCELLED')],
  ] as const)('at %s: it is told as cancelled only when its files say so, and never runs', async (name, left) => {
    const { atDeath, next, reindexed, faults } = await killedAtCancel(name)
    const cancelled = { status: 'CANCELLED', error_reason: 'cancelled', started_at: null }
    expect([atDeath, faults]).toEqual([left, []])
    expect([next, reindexed]).toMatchObject([cancelled, next])
  })
})

describe('a disk that is full when the first record of an exec is written', () => {
  it('is answered with 507, and under the same key the exec runs once when there is room', async () => {
    const env = { GLOVEBOX_FAILPOINTS: 'exec.accept.beforeMeta=error:ENOSPC' }
    const body = shell('echo ran >> count; cat count')
    const headers = { 'idempotency-key': 'k' }
    const first = await startExecServer({ env })
    const refused = await first.ask('POST', '/sandbox/execs', { body, headers })
    expect([refused.status, refused.json]).toMatchObject([507, { error: { code: 'NO_SPACE' } }])
    expect((await first.ask('GET', '/sandbox/execs')).json).toMatchObject({ items: [] })
    expect(await first.stop()).toBe(0)

    const second = await startExecServer({ place: first.place })
    try {
      const ran = await second.exec(body, headers)
      expect(ran).toMatchObject({ status: 'SUCCEEDED' })
      expect((await second.exec(body, headers)).exec_id).toBe(ran.exec_id)
      expect((await second.ask('GET', `/sandbox/execs/${ran.exec_id}/stdout`)).text).toBe('ran\n')
    } finally {
      await second.remove()
    }
  })
})
