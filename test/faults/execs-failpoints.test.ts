// A server that ends at each step of an exec's life, as kill -9 would end it there. On bubblewrap nothing outlives it: what had not begun
// begins, what had begun and not ended is LOST, and an end that was known stays true, however little of it was written down.
import { describe, expect, it } from 'vitest'
import type { ExecRecord } from '../../src/contract/exec-record.ts'
import { makePlace, shell, startExecServer } from '../fixtures/exec-server.ts'
import { killedAtCancel } from './killed-cancel.ts'
import { audit, killedAt, readExec, send, stepsOfOne, type StepOfOne } from './killed-exec-server.ts'

const succeeded = { status: 'SUCCEEDED', error_reason: null, exit_code: 0 } as const
const lost = { status: 'LOST', error_reason: 'server_crash', exit_code: null } as const

const ends: Readonly<Record<StepOfOne, Partial<ExecRecord>>> = {
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
  it.each(stepsOfOne)('at %s: one exec, one end, true or LOST, and its files agree', async (name) => {
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

describe('a server that is killed while it puts an exec back into the queue', () => {
  it('at exec.putBack.beforeRow: its files say so already, and the next server runs it once', async () => {
    const place = makePlace()
    const killing = (name: string) => ({ place, env: { GLOVEBOX_FAILPOINTS: `${name}=kill` } })
    const first = await startExecServer(killing('exec.start.beforeCreate'))
    const one = { key: 'key', mark: 'one' }
    await expect(send(first, one, true)).rejects.toThrow()
    await first.kill()
    // It recovers what was left before it says where it serves.
    await expect(startExecServer(killing('exec.putBack.beforeRow'))).rejects.toThrow('the server ended with null')
    const { row, meta } = await readExec(place)
    expect([row.status, row.boundary_id]).toEqual(['RUNNING', expect.stringMatching(/^sbx_/)])
    expect(meta).toMatchObject({ status: 'QUEUED', boundary_id: null, backend: null, started_at: null })
    const third = await startExecServer({ place })
    try {
      expect(await audit(third, [one])).toEqual({ faults: [], statuses: { SUCCEEDED: 1 } })
    } finally {
      await third.remove()
    }
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
