import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readRecord, replaceRecord, writeFirstRecord } from './record.ts'
import { firstRecord } from './request.ts'

it('a record of a member that was destroyed meanwhile is not written, and whoever wanted that is told that it is gone', async () => {
  const place = mkdtempSync(join(tmpdir(), 'glovebox-record-'))
  try {
    const directory = join(place, 'member')
    mkdirSync(directory)
    const record = firstRecord(
      'sbx_0123456789abcdef',
      null,
      {},
      { backend: 'bwrap', layout: 'workspace', lifeMs: 1000 },
    )
    writeFirstRecord(directory, record)
    await replaceRecord(directory, { ...record, life_ms: 2000 })
    expect(readRecord(directory)).toMatchObject({ life_ms: 2000 })
    rmSync(directory, { recursive: true })
    await expect(replaceRecord(directory, record)).rejects.toMatchObject({ code: 'SANDBOX_GONE' })
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
})
