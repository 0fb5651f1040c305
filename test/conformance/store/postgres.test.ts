// The store's contract on PostgreSQL. GLOVEBOX_REQUIRE=postgres makes its absence a failure.
import { afterAll, describe, expect, it } from 'vitest'
import { startCluster, whyNoPostgres, type Cluster } from '../../fixtures/postgres.ts'
import { isRequired } from '../required.ts'
import { describeStore } from './suite.ts'

if (whyNoPostgres === undefined) {
  const cluster: Cluster = startCluster()
  afterAll(() => cluster.remove())
  describeStore({ kind: 'postgres', newDatabase: () => cluster.createDatabase() })
} else {
  describe('store on postgres', () => {
    it.skipIf(!isRequired('postgres'))(`is there (${whyNoPostgres})`, () => {
      expect(whyNoPostgres).toBeUndefined()
    })
  })
}
