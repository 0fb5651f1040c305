// An exec ends while nobody can be told: its server lives on and knows the end, and it is not guessed at when the database is there again.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecMeta } from '../../src/contract/exec-record.ts'
import { isRequired } from '../conformance/required.ts'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { startCluster, whyNoPostgres, type Cluster } from '../fixtures/postgres.ts'

describe.skipIf(whyNoPostgres !== undefined && !isRequired('postgres'))(
  'an exec that ends while the database is away',
  () => {
    let cluster: Cluster
    let server: ExecServer
    beforeAll(async () => {
      cluster = startCluster()
      server = await startExecServer({ env: { DATABASE_URL: cluster.createDatabase() } })
    })
    afterAll(async () => {
      await server.remove()
      cluster.remove()
    })

    it('has its true end, and its own time of it, however long that could not be written', async () => {
      const untilGo = 'echo begun > begun; while [ ! -e go ]; do sleep 0.05; done; echo over; exit 7'
      const begun = await server.begin(shell(untilGo))
      const work = join(server.workspace, 'projects/demo/work')
      await expect.poll(() => existsSync(join(work, 'begun'))).toBe(true)
      cluster.stop()
      writeFileSync(join(work, 'go'), '')
      // It has given up for now.
      await expect
        .poll(() => server.logs(), { timeout: 180_000 })
        .toContain(`the end of ${begun.exec_id} could not be written"`)
      const back = new Date().toISOString()
      cluster.start()
      // Until the server has heard of it.
      await expect.poll(async () => (await server.fetch('/readyz')).status, { timeout: 60_000 }).toBe(200)
      const end = await server.until(begun.exec_id, ({ ended_at }) => ended_at !== null)
      expect(end).toMatchObject({ status: 'FAILED', error_reason: 'exit_nonzero', exit_code: 7 })
      expect(end.ended_at?.localeCompare(back)).toBe(-1)
      expect(readFileSync(join(server.workspace, end.stdout_path), 'utf8')).toBe('over\n')
      const meta = JSON.parse(readFileSync(join(server.workspace, end.artifacts_dir, 'meta.json'), 'utf8')) as ExecMeta
      expect(meta).toMatchObject(end)
    })
  },
)
