// Kill -9 in the middle of a claim: what was laid ahead is the claimant's or nobody's, and in both cases the next start finds it.
import { describe, expect, it } from 'vitest'
import { starters } from './ground.ts'
import { killClaims } from './killed-claim.ts'

describe.skipIf(process.platform !== 'linux')('kill -9 while a sandbox that was laid ahead is taken', () => {
  for (const starter of starters)
    it(`leaves the key usable and nothing behind, started by ${starter}`, async () => {
      // Each of them takes seconds, and what is changed in which order is the same for both.
      const { killed, beyond, faults } = await killClaims(starter, starter === 'root' ? 1 : 2)
      expect(faults).toEqual([])
      // The control: it would have been taken, and not made cold; and there was something to be killed at.
      expect(beyond).toBe('claimed\n')
      expect(killed).toBeGreaterThanOrEqual(starter === 'root' ? 8 : 4)
    })
})
