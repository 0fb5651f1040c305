// A few seconds of the campaign in campaigns/server-fuzz.ts, with a new seed each time; the seed is told when it finds something.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fuzz } from './server-fuzz.ts'
import { startServer, type ServerGround } from './server-ground.ts'
import { makeObjects } from './server-objects.ts'

let ground: ServerGround

beforeAll(async () => {
  ground = await startServer({ flags: ['--grace', '1s', '--log-level', 'error'] })
})
afterAll(async () => {
  await ground.stop()
})

it('requests that almost fit are never answered with a fault, nor against the document, nor without a token', async () => {
  const objects = await makeObjects(ground, 'fuzzed')
  // Always the same: what a new one finds is for the campaign to tell.
  const seed = 4711
  const report = await fuzz(ground, objects, {
    seed,
    forMs: 10_000,
    leastRequests: 101,
    skip: ({ id }) => id === 'deleteSandboxesSandboxId',
  })
  expect({ seed, faults: report.faults, log: ground.log() }).toEqual({ seed, faults: [], log: '' })
  expect(report.requests).toBeGreaterThan(100)
  // What holds the server up does so for ever, or nearly; others on the machine may for a second or two.
  expect(report.slowestHealthMs).toBeLessThan(5000)
  expect(report.grownMiB).toBeLessThan(150)
})
