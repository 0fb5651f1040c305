import { describe, expect, it } from 'vitest'
import type { SandboxSpec } from '../../contract/backend.ts'
import type { PolicyField } from '../../contract/policy.ts'
import { handMadeSpec } from '../../testing/spec.ts'
import { compilePlan } from './compile.ts'
import { probeHost } from './probe.ts'

const traits = { processTable: true }
const demanding = (...fields: PolicyField[]): SandboxSpec => ({ ...handMadeSpec('/srv/t'), demanded: new Set(fields) })

describe('the plan of local', () => {
  it('is the same for the same spec, and says that nothing is isolated', () => {
    const plan = compilePlan(handMadeSpec('/srv/t'), traits)
    expect(plan).toEqual(compilePlan(handMadeSpec('/srv/t'), traits))
    expect(plan.argv).toEqual(['…'])
    expect(plan.mounts).toContain('/workspace stands for /srv/t/workspace, rw')
    const missing = plan.notEnforced.map(({ what }) => what)
    expect(missing).toEqual(
      expect.arrayContaining(['filesystem.isolated', 'process.isolated', 'network.none', 'memory']),
    )
  })

  it.each(['memoryMb', 'cpuCores', 'pids', 'network'] as const)('a person who demands %s is refused', (field) => {
    expect(() => compilePlan(demanding(field), traits)).toThrow(
      expect.objectContaining({ code: 'POLICY_UNENFORCEABLE' }),
    )
  })

  it('a demanded timeout is no reason to refuse', () => {
    expect(compilePlan(demanding('timeoutMs'), traits).enforced.map(({ what }) => what)).toContain('timeout')
  })

  it('without a process table the end of the whole tree is not claimed', () => {
    const plan = compilePlan(handMadeSpec('/srv/t'), { processTable: false })
    expect(plan.enforced.map(({ what }) => what)).not.toContain('process.tree')
    expect(plan.notEnforced.map(({ what }) => what)).toContain('process.tree')
  })

  it('a mount at the root is refused', () => {
    const spec = handMadeSpec('/srv/t', { mounts: [{ guestPath: '/', hostPath: '/srv/t' }] })
    expect(() => compilePlan(spec, traits)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
  })
})

describe('the probe of local', () => {
  it('says what local is', () => {
    expect(probeHost('linux', traits)).toMatchObject({
      available: true,
      reason: expect.stringContaining('isolates nothing'),
    })
  })

  it('is not available where there are no POSIX paths', () => {
    expect(probeHost('win32', traits).available).toBe(false)
  })
})
