import { describe, expect, it } from 'vitest'
import { createDrain } from '../drain.ts'
import type { Call } from '../route.ts'
import { unrecorded } from '../recorded.ts'
import { healthRoutes, type HealthParts } from './health.ts'

const healthy = { kind: 'sqlite', version: '3', schema: 1, latencyMs: 0 } as const

describe('readiness', () => {
  it('however many ask at once, there is one look at a time', async () => {
    let looks = 0
    let isThere = true
    const store: HealthParts['store'] = {
      async health() {
        looks += 1
        await new Promise((resolve) => setImmediate(resolve))
        if (!isThere) throw new Error('it is away')
        return healthy
      },
    }
    const backend = { capabilities: { files: 'mounts' } }
    const backends = { get: async () => backend } as unknown as HealthParts['backends']
    const parts = { drain: createDrain(), store, backends } as unknown as HealthParts
    const route = healthRoutes(parts).find(({ path }) => path === '/readyz')
    const ask = async (): Promise<unknown> => route?.handle({} as Call, unrecorded)
    const answers = await Promise.all(Array.from({ length: 20 }, ask))
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, value: { status: 'ready' } })
    expect(looks).toBe(1)
    // Nothing is believed from before.
    isThere = false
    expect(await ask()).toMatchObject({ status: 503, value: { status: 'degraded' } })
    expect(looks).toBe(2)
  })
})
