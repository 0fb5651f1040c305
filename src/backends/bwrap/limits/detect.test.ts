import { describe, expect, it } from 'vitest'
import { detectLimits } from './detect.ts'
import { hostOf, v1InContainer, v1Root, v2InContainer, v2Login, v2Nested, without } from './hosts.test-support.ts'

const detect = (...args: Parameters<typeof hostOf>) => detectLimits(hostOf(...args))

describe('detectLimits on cgroup v1', () => {
  it('offers each controller below the own group of this process, also on a hybrid host', () => {
    expect(detect(v1Root)).toEqual({
      mechanism: 'cgroup v1',
      by: 'cgroup v1',
      enforces: ['memory', 'cpu', 'pids'],
      missing: [],
      parents: {
        memory: '/sys/fs/cgroup/memory/jobs/79386c',
        cpu: '/sys/fs/cgroup/cpu',
        pids: '/sys/fs/cgroup/pids',
      },
    })
  })

  it('offers what is writable and names the rest with a reason', () => {
    const plan = detect({ ...v1Root, writable: ['/sys/fs/cgroup/pids'] })
    expect(plan.enforces).toEqual(['pids'])
    expect(plan.missing.map((each) => each.what)).toEqual(['memory', 'cpu'])
  })

  it('does not offer CPU where the kernel has no bandwidth control', () => {
    expect(detect({ ...v1Root, files: {} }).enforces).toEqual(['memory', 'pids'])
  })

  it('does not offer a controller that is switched off', () => {
    const plan = detect({ ...v1Root, cgroup: '8:pids:/\n1:cpu:/\n0::/\n' })
    expect(plan.enforces).toEqual(['cpu', 'pids'])
    expect(plan.missing[0]).toMatchObject({ what: 'memory', fix: expect.stringContaining('cgroup_enable=memory') })
  })

  it('is none for an ordinary user, with reason and fix', () => {
    const plan = detect({ ...v1Root, uid: 1000, writable: [] })
    expect(plan).toMatchObject({ mechanism: 'none', enforces: [] })
    expect(plan.missing[0]?.why).toContain('ordinary user')
    expect(plan.missing[0]?.fix).toContain('start as root')
  })

  it('reads the mount root of a container that keeps the names of its host', () => {
    const writable = ['cpu,cpuacct', 'memory', 'pids'].map((name) => `/sys/fs/cgroup/${name}`)
    expect(detect({ ...v1InContainer, writable })).toMatchObject({
      mechanism: 'cgroup v1',
      parents: { memory: '/sys/fs/cgroup/memory', cpu: '/sys/fs/cgroup/cpu,cpuacct' },
    })
  })

  it('is none in a container with read-only control groups', () => {
    const plan = detect(v1InContainer)
    expect(plan.mechanism).toBe('none')
    expect(plan.missing[0]?.why).toContain('read-only')
  })

  it('does not offer a group outside the cgroup namespace', () => {
    const plan = detect({ ...v1Root, cgroup: '8:pids:/../../other\n' })
    expect(plan.enforces).toEqual([])
  })
})

describe('detectLimits on cgroup v2', () => {
  it('asks systemd for a scope where a user is logged in, and offers what its manager was delegated', () => {
    expect(detect(v2Login)).toMatchObject({
      mechanism: 'systemd scope',
      manager: 'user',
      enforces: ['memory', 'pids'],
      missing: [{ what: 'cpu', fix: expect.stringContaining('Delegate=cpu memory pids') }],
      unit: 'glovebox-4242-777.scope',
    })
  })

  it('asks the system manager when started by root', () => {
    expect(detect({ ...v2Login, uid: 0, writable: ['/run/dbus/system_bus_socket'] })).toMatchObject({
      mechanism: 'systemd scope',
      manager: 'system',
      enforces: ['memory', 'cpu', 'pids'],
    })
  })

  it('is none for an ordinary user without a manager, with reason and fix', () => {
    const plan = detect({ ...v2Login, writable: [] })
    expect(plan.mechanism).toBe('none')
    expect(plan.missing[0]?.why).toContain('delegated')
    expect(plan.missing[0]?.fix).toContain('systemd-run --user --scope -p Delegate=yes')
  })

  it('moves processes to a leaf where the own group is the whole container', () => {
    expect(detect(v2InContainer)).toMatchObject({
      mechanism: 'cgroup v2',
      parent: '/sys/fs/cgroup',
      vacate: true,
      enforces: ['memory', 'cpu', 'pids'],
    })
  })

  it('goes on beside the leaf after such a move', () => {
    const plan = detect({
      ...v2InContainer,
      cgroup: '0::/glovebox-host\n',
      files: { '/sys/fs/cgroup/cgroup.controllers': 'memory pids\n' },
    })
    expect(plan).toMatchObject({ parent: '/sys/fs/cgroup', vacate: false, enforces: ['memory', 'pids'] })
  })

  it('is none in a container with read-only control groups', () => {
    const plan = detect({ ...v2InContainer, writable: [] })
    expect(plan.mechanism).toBe('none')
    expect(plan.missing[0]?.why).toContain('read-only')
  })

  it('needs no move below the root of the machine', () => {
    const files = { '/sys/fs/cgroup/cgroup.controllers': 'cpu memory pids\n' }
    expect(detect({ ...v2InContainer, files })).toMatchObject({ parent: '/sys/fs/cgroup', vacate: false })
  })

  it('moves only itself where it is alone in its group', () => {
    const plan = detect(v2Nested({ '/sys/fs/cgroup/jobs/one/cgroup.procs': '4242\n' }))
    expect(plan).toMatchObject({ parent: '/sys/fs/cgroup/jobs/one', vacate: true })
  })

  it('goes beside a group that it shares and that has no limits', () => {
    expect(detect(v2Nested({}))).toMatchObject({ parent: '/sys/fs/cgroup/jobs', vacate: false })
  })

  it('never goes beside a group that has limits, since they would no longer hold', () => {
    const plan = detect(v2Nested({ '/sys/fs/cgroup/jobs/one/memory.max': '1073741824\n' }))
    expect(plan.mechanism).toBe('none')
    expect(plan.missing[0]?.why).toContain('limits of its own')
  })
})

describe('detectLimits without control groups', () => {
  it('is none, with reason and fix for every controller', () => {
    const plan = detect(without)
    expect(plan.mechanism).toBe('none')
    expect(plan.missing.map((each) => each.what)).toEqual(['memory', 'cpu', 'pids'])
    expect(plan.missing.every((each) => each.why !== '' && each.fix !== '')).toBe(true)
  })
})
