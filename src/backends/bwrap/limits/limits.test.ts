import { describe, expect, it } from 'vitest'
import { limitDirectories } from './limits.ts'
import type { LimitsPlan } from './plan.ts'

const offer = { by: 'a test', enforces: ['memory', 'pids'], missing: [] } as const
const scope = { manager: 'user', uid: 1, pid: 2, program: 'busctl', unit: 'one.scope', mountPoint: '/cg' } as const

describe('where a control group will be', () => {
  it('is known before it is made', () => {
    const first: LimitsPlan = { ...offer, mechanism: 'cgroup v1', parents: { memory: '/cg/memory', pids: '/cg/pids' } }
    expect(limitDirectories(first, 'glovebox-x')).toEqual(['/cg/memory/glovebox-x', '/cg/pids/glovebox-x'])
    const second: LimitsPlan = { ...offer, mechanism: 'cgroup v2', parent: '/cg/own', vacate: false }
    expect(limitDirectories(second, 'glovebox-x')).toEqual(['/cg/own/glovebox-x'])
  })

  it('is not, where systemd must be asked or there will be none', () => {
    expect(limitDirectories({ ...offer, mechanism: 'systemd scope', ...scope }, 'glovebox-x')).toBeUndefined()
    expect(limitDirectories({ ...offer, mechanism: 'none', enforces: [] }, 'glovebox-x')).toBeUndefined()
  })
})
