import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ExecRow } from '../contract/store.ts'
import { makeGround, type Ground } from './ground.test-support.ts'
import { forgetEnd, noteEnd, notedEnd, type KnownEnd } from './known-end.ts'
import { execPlace } from './layout.ts'

let ground: Ground
let row: ExecRow
beforeEach(() => {
  ground = makeGround()
  row = ground.exec({ boundary_id: 'sbx_one' })
})
afterEach(() => ground.remove())

const end: KnownEnd = {
  status: 'FAILED',
  error_reason: 'exit_nonzero',
  exit_code: 7,
  ended_at: '2026-01-01T00:00:00.000Z',
  duration_ms: 12,
  stdout_truncated: true,
  stderr_truncated: false,
}

describe('the end of an exec that is known and not recorded yet', () => {
  it('is found again as it was noted, until it is recorded', async () => {
    await noteEnd(ground.root, row, end)
    expect(notedEnd(ground.root, row)).toEqual(end)
    forgetEnd(ground.root, row)
    expect(notedEnd(ground.root, row)).toBeUndefined()
  })

  it('is that of one attempt, and says nothing of another', async () => {
    await noteEnd(ground.root, row, end)
    expect(notedEnd(ground.root, { ...row, boundary_id: 'sbx_two' })).toBeUndefined()
  })

  it.each(['', '{', '[]', '{"boundary_id":"sbx_one"}', '\0'.repeat(200)])(
    'is none where a power cut left %j',
    (text) => {
      writeFileSync(join(execPlace(ground.root, row), '.known-end'), text)
      expect(notedEnd(ground.root, row)).toBeUndefined()
    },
  )
})
