import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openStore } from '../../store/open.ts'
import { purgeKeys } from './key-purge.ts'

it('keys are forgotten while a server is at work, a week after they were bound, and not at its start', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'glovebox-keys-'))
  const store = await openStore({ url: join(directory, 'db') })
  const now = Date.parse('2026-11-18T12:00:00.000Z')
  const bound = (key: string, days: number) => ({
    project_id: 'p',
    key,
    body_sha256: 'b',
    subject: key,
    created_at: new Date(now - days * 24 * 60 * 60_000).toISOString(),
  })
  const [old, young] = [bound('old', 7.1), bound('young', 6.9)]
  for (const row of [old, young]) await store.idempotency.claim(row)
  const faults: unknown[] = []
  const onFault = (error: unknown): void => void faults.push(error)

  const resting = purgeKeys(store.idempotency, { onFault, now: () => now })
  expect(await store.idempotency.find(old)).toBeDefined()
  resting.close()
  const purging = purgeKeys(store.idempotency, { onFault, now: () => now, everyMs: 10 })
  await expect.poll(() => store.idempotency.find(old)).toBeUndefined()
  expect(await store.idempotency.find(young)).toBeDefined()
  purging.close()
  expect(faults).toEqual([])
  await store.close()
  rmSync(directory, { recursive: true })
})
