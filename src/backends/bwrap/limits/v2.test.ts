import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLimitGroup, type LimitGroup } from './limits.ts'
import { noLimits, type V2Plan } from './plan.ts'
import { prepareV2 } from './v2.ts'

const limits = { memoryBytes: 64 * 1024 * 1024, cpuCores: 0.5, pids: 20 }
let parent: string
let plan: V2Plan
const text = (...names: string[]): string => readFileSync(join(parent, ...names), 'utf8')

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'glovebox-v2-'))
  writeFileSync(join(parent, 'cgroup.subtree_control'), 'memory\n')
  plan = {
    mechanism: 'cgroup v2',
    by: 'cgroup v2',
    enforces: ['memory', 'cpu', 'pids'],
    missing: [],
    parent,
    vacate: false,
  }
})
afterEach(() => rmSync(parent, { recursive: true }))

/** The kernel's files go with a group; these have to be taken out first. */
async function end(group: LimitGroup): Promise<void> {
  for (const name of readdirSync(join(parent, group.name))) rmSync(join(parent, group.name, name))
  await group.destroy()
  expect(readdirSync(parent)).toEqual(['cgroup.subtree_control'])
}

describe('prepareV2', () => {
  it('enables the controllers that are not enabled yet', async () => {
    await prepareV2(plan)
    expect(text('cgroup.subtree_control')).toBe('+cpu +pids')
  })

  it('writes nothing when all are enabled', async () => {
    writeFileSync(join(parent, 'cgroup.subtree_control'), 'cpu memory pids\n')
    await prepareV2(plan)
    expect(text('cgroup.subtree_control')).toBe('cpu memory pids\n')
  })

  it('fails closed when the parent cannot be emptied', async () => {
    writeFileSync(join(parent, 'cgroup.procs'), '4242\n')
    await expect(prepareV2({ ...plan, vacate: true })).rejects.toMatchObject({ code: 'BOUNDARY_FAILED' })
    expect(text('glovebox-host', 'cgroup.procs')).toBe('4242')
    expect(text('cgroup.subtree_control')).toBe('memory\n')
  })

  it('never writes a 0, which would move this process', async () => {
    writeFileSync(join(parent, 'cgroup.procs'), '0\n')
    await expect(prepareV2({ ...plan, vacate: true })).rejects.toMatchObject({ code: 'BOUNDARY_FAILED' })
    expect(readdirSync(join(parent, 'glovebox-host'))).toEqual([])
  })
})

describe('createLimitGroup on cgroup v2', () => {
  it('sets every limit in one directory and tells the journal before', async () => {
    const told: string[] = []
    const group = await createLimitGroup(plan, 'glovebox-sbx_00000001', limits, {
      beforeMaking: async (directories) => void told.push(...directories, ...readdirSync(parent)),
    })
    expect(told).toEqual([join(parent, group.name), 'cgroup.subtree_control'])
    expect(text(group.name, 'memory.max')).toBe('67108864')
    expect(text(group.name, 'memory.oom.group')).toBe('1')
    expect(text(group.name, 'cpu.max')).toBe('50000 100000')
    expect(text(group.name, 'pids.max')).toBe('20')
    await group.add(4242)
    expect(text(group.name, 'cgroup.procs')).toBe('4242')
    await end(group)
  })

  it('reads kills, usage and processes from the kernel files', async () => {
    const group = await createLimitGroup(plan, 'glovebox-sbx_00000001', limits)
    const directory = join(parent, group.name)
    expect(await group.usage()).toEqual({})
    writeFileSync(join(directory, 'memory.events'), 'low 0\noom 3\noom_kill 2\noom_group_kill 1\n')
    writeFileSync(join(directory, 'memory.current'), '4096\n')
    writeFileSync(join(directory, 'cpu.stat'), 'usage_usec 2500\nuser_usec 1\n')
    writeFileSync(join(directory, 'cgroup.procs'), '12\n13\n')
    expect(await group.oomKills()).toBe(2)
    expect(await group.usage()).toEqual({ memoryBytes: 4096, cpuMs: 2.5 })
    expect(await group.processes()).toEqual([12, 13])
    writeFileSync(join(directory, 'cgroup.procs'), '')
    await group.kill()
    await end(group)
  })

  it('leaves alone a group of the same name that it did not make', async () => {
    const directory = join(parent, 'glovebox-sbx_00000001')
    mkdirSync(directory)
    await expect(createLimitGroup(plan, 'glovebox-sbx_00000001', limits)).rejects.toMatchObject({
      code: 'BOUNDARY_FAILED',
    })
    expect(readdirSync(parent)).toContain('glovebox-sbx_00000001')
  })
})

describe('createLimitGroup', () => {
  it.each(['', 'glovebox-', 'glovebox-host', 'glovebox-../x', 'system.slice', 'glovebox-a/b'])(
    'refuses the name %j',
    async (name) => {
      await expect(createLimitGroup(plan, name, limits)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    },
  )

  it.each([{ memoryBytes: 0 }, { pids: -1 }, { pids: 1.5 }, { cpuCores: Number.NaN }, { cpuCores: 0 }])(
    'refuses the limit %j',
    async (bad) => {
      await expect(createLimitGroup(plan, 'glovebox-a', { ...limits, ...bad })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      })
      expect(readdirSync(parent)).toEqual(['cgroup.subtree_control'])
    },
  )

  it('refuses with reason and fix where nothing can be limited', async () => {
    await expect(createLimitGroup(noLimits('it is so', 'mend it'), 'glovebox-a', limits)).rejects.toMatchObject({
      code: 'POLICY_UNENFORCEABLE',
      message: expect.stringContaining('it is so'),
      hint: 'mend it',
    })
  })
})
