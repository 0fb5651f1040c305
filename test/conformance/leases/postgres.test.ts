// Leases in PostgreSQL. GLOVEBOX_REQUIRE=postgres makes its absence a failure.
import { afterAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/store/open.ts'
import { startCluster, whyNoPostgres, type Cluster } from '../../fixtures/postgres.ts'
import { isRequired } from '../required.ts'
import { describeLeases } from './suite.ts'

if (whyNoPostgres === undefined) {
  const cluster: Cluster = startCluster()
  afterAll(() => cluster.remove())
  describeLeases({
    name: 'postgres',
    newPlace: async () => {
      const store = await openStore({ url: cluster.createDatabase() })
      return {
        open: (options) => {
          if (store.openLeases === undefined) throw new Error('PostgreSQL has leases')
          return store.openLeases(options)
        },
        close: () => store.close(),
      }
    },
  })
} else {
  describe('leases in postgres', () => {
    it.skipIf(!isRequired('postgres'))(`is there (${whyNoPostgres})`, () => {
      expect(whyNoPostgres).toBeUndefined()
    })
  })
}
