import { describe, expect, it } from 'vitest'
import { openMeters } from './meters.ts'

const id = 'a'.repeat(64)
const other = 'b'.repeat(64)

const v1: Readonly<Record<string, string>> = {
  '/proc/7/cgroup': `4:memory:/docker/${id}\n3:pids:/docker/${id}\n2:cpu,cpuacct:/docker/${id}\n0::/\n`,
  '/proc/self/mountinfo': [
    '31 23 0:28 / /cg/mem rw - cgroup cgroup rw,memory',
    '32 23 0:29 / /cg/pids rw - cgroup cgroup rw,pids',
    '33 23 0:30 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct',
    '34 23 0:31 / /cg/unified rw - cgroup2 cgroup2 rw',
  ].join('\n'),
  [`/cg/mem/docker/${id}/memory.usage_in_bytes`]: '4096\n',
  [`/cg/pids/docker/${id}/pids.current`]: '3\n',
  [`/cg/cpu/docker/${id}/cpuacct.usage`]: '5000000\n',
}
const scope = `/system.slice/docker-${id}.scope`
const v2: Readonly<Record<string, string>> = {
  '/proc/7/cgroup': `0::${scope}\n`,
  '/proc/self/mountinfo': '34 23 0:31 / /sys/fs/cgroup rw shared:1 - cgroup2 cgroup2 rw\n',
  [`/sys/fs/cgroup${scope}/memory.current`]: '8192\n',
  [`/sys/fs/cgroup${scope}/pids.current`]: '2\n',
  [`/sys/fs/cgroup${scope}/cpu.stat`]: 'usage_usec 7000\nuser_usec 1\n',
}

const metersOn = (files: Readonly<Record<string, string>>, more: { isGvisor?: boolean; id?: string } = {}) => {
  let asked = 0
  const meters = openMeters({
    find: async (name) => {
      asked += 1
      return name === 'gone' ? undefined : { pid: 7, id: more.id ?? id }
    },
    isGvisor: more.isGvisor ?? false,
    read: (path) => files[path],
  })
  return { meters, asked: () => asked }
}

describe('the meters of containers', () => {
  it('are read from the groups of either version', async () => {
    const old = await metersOn(v1).meters.usage(['one'])
    expect(old).toEqual({ memoryBytes: 4096, pids: 3, cpuMs: 5, notCounted: [] })
    const unified = await metersOn(v2).meters.usage(['one'])
    expect(unified).toEqual({ memoryBytes: 8192, pids: 2, cpuMs: 7, notCounted: [] })
  })

  it('are of all together, and the daemon is asked once for each', async () => {
    const { meters, asked } = metersOn(v2)
    for (let round = 0; round < 3; round += 1)
      expect(await meters.usage(['one', 'two'])).toMatchObject({ memoryBytes: 16_384, pids: 4, cpuMs: 14 })
    expect(asked()).toBe(2)
    expect(await meters.usage(['one']), 'what is used up stays used').toMatchObject({ memoryBytes: 8192, cpuMs: 14 })
  })

  it('the process of another is not counted in its place', async () => {
    const { notCounted, ...rest } = await metersOn(v1, { id: other }).meters.usage(['one'])
    expect(rest).toEqual({})
    expect(notCounted?.map(({ what }) => what)).toEqual(['memoryBytes', 'pids', 'cpuMs'])
  })

  it('a container that has ended since is left out', async () => {
    expect(await metersOn(v2).meters.usage(['gone', 'one'])).toMatchObject({ memoryBytes: 8192, notCounted: [] })
  })

  it('of gVisor tell nothing of processes, and say why', async () => {
    const { pids, notCounted } = await metersOn(v2, { isGvisor: true }).meters.usage(['one'])
    expect([pids, notCounted]).toEqual([undefined, [{ what: 'pids', why: expect.stringContaining('gVisor') }]])
  })
})
