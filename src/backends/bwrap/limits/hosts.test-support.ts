// Hosts as their kernels describe them. Only what detection reads is here.
import type { LimitsHost } from './plan.ts'

export interface HostFixture {
  readonly uid?: number
  readonly cgroup: string
  readonly mountinfo: string
  /** Files that can be read. A key also exists. */
  readonly files?: Readonly<Record<string, string>>
  readonly writable?: readonly string[]
}

export const hostOf = ({ uid = 0, cgroup, mountinfo, files = {}, writable = [] }: HostFixture): LimitsHost => ({
  uid,
  pid: 4242,
  unit: 'glovebox-4242-777.scope',
  cgroup,
  mountinfo,
  read: (path) => files[path],
  exists: (path) => path in files || writable.includes(path),
  canWrite: (path) => writable.includes(path),
})

export const v1Root: HostFixture = {
  cgroup: '9:name=systemd:/\n8:pids:/\n4:memory:/jobs/79386c\n2:cpuacct:/\n1:cpu:/\n0::/\n',
  mountinfo: [
    '27 1 254:0 / / rw,relatime - ext4 /dev/vda rw',
    '31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755',
    '32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu',
    '33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct',
    '35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory',
    '39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids',
    '41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw',
  ].join('\n'),
  files: { '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n', '/sys/fs/cgroup/unified/cgroup.controllers': '\n' },
  writable: ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup/memory/jobs/79386c', '/sys/fs/cgroup/pids'],
}

export const v1InContainer: HostFixture = {
  cgroup: '12:pids:/docker/abc\n7:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/docker/abc\n',
  mountinfo: [
    '700 690 0:40 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro,nosuid master:15 - cgroup cgroup rw,cpu,cpuacct',
    '701 690 0:41 /docker/abc /sys/fs/cgroup/memory ro,nosuid master:16 - cgroup cgroup rw,memory',
    '702 690 0:42 /docker/abc /sys/fs/cgroup/pids ro,nosuid master:17 - cgroup cgroup rw,pids',
  ].join('\n'),
  files: { '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '-1\n' },
}

const v2Mount = '30 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate'

export const v2Login: HostFixture = {
  uid: 1000,
  cgroup: '0::/user.slice/user-1000.slice/session-3.scope\n',
  mountinfo: v2Mount,
  files: {
    '/usr/bin/busctl': '',
    '/run/systemd/system': '',
    '/sys/fs/cgroup/cgroup.controllers': 'cpuset cpu io memory hugetlb pids rdma misc\n',
    '/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cgroup.controllers': 'memory pids\n',
  },
  writable: ['/run/user/1000/bus'],
}

export const v2InContainer: HostFixture = {
  cgroup: '0::/\n',
  mountinfo: '900 880 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw',
  files: {
    '/sys/fs/cgroup/cgroup.controllers': 'cpu memory pids\n',
    '/sys/fs/cgroup/cgroup.events': 'populated 1\nfrozen 0\n',
    '/sys/fs/cgroup/cgroup.procs': '1\n4200\n4242\n',
  },
  writable: ['', '/cgroup.procs', '/cgroup.subtree_control'].map((name) => `/sys/fs/cgroup${name}`),
}

/** As root without systemd, in a group that other processes share. */
export const v2Nested = (files: Readonly<Record<string, string>>): HostFixture => ({
  cgroup: '0::/jobs/one\n',
  mountinfo: v2Mount,
  files: {
    '/sys/fs/cgroup/jobs/cgroup.subtree_control': 'memory pids\n',
    '/sys/fs/cgroup/jobs/one/cgroup.controllers': 'memory pids\n',
    '/sys/fs/cgroup/jobs/one/cgroup.procs': '4200\n4242\n',
    '/sys/fs/cgroup/jobs/one/memory.max': 'max\n',
    ...files,
  },
  writable: [
    '',
    '/cgroup.procs',
    '/cgroup.subtree_control',
    '/one',
    '/one/cgroup.procs',
    '/one/cgroup.subtree_control',
  ].map((name) => `/sys/fs/cgroup/jobs${name}`),
})

export const without: HostFixture = {
  cgroup: '',
  mountinfo: '27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n',
}
