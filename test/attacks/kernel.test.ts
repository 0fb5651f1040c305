// A hostile program against the interfaces of the kernel, in the whole sandbox as a user gets it. The filter alone is
// attacked in seccomp.test.ts; here the question is what the sandbox as a whole lets through.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expectAnswers, expectOtherwise, readAnswers, type Answers } from './attempts.ts'
import {
  attackedBackend,
  isGvisor,
  openControlGround,
  openHost,
  probeFile,
  starters,
  undefended,
  type AttackHost,
  type ControlGround,
  type Guest,
} from './host.ts'

let ground: ControlGround
let control: Answers
beforeAll(async () => {
  ground = openControlGround()
  control = readAnswers((await undefended([await probeFile('syscalls.c')], { cwd: ground.directory })).stdout)
})
afterAll(() => ground.close())

describe.each(starters)('kernel interfaces, started by %s', (starter) => {
  let host: AttackHost
  let guest: Guest
  let answers: Answers
  beforeAll(async () => {
    host = await openHost(starter)
    guest = await host.sandbox()
    answers = readAnswers((await guest.probe('syscalls.c', [], { cwd: '/tmp' })).stdout)
  })
  afterAll(() => host.close())

  const reach = async (...words: string[]): Promise<Record<string, unknown>> =>
    JSON.parse((await guest.probe('reach.py', words)).stdout) as Record<string, unknown>
  const reachUndefended = async (...words: string[]): Promise<Record<string, unknown>> =>
    JSON.parse((await undefended([await probeFile('reach.py'), ...words])).stdout) as Record<string, unknown>

  // The control opens files of its own: a control that could really change the machine's settings is none to be run.
  it('/proc/sys cannot be written', async () => {
    const found = await reach('walk', '/proc/sys')
    expect(found['opened']).toEqual([])
    expect(
      Object.keys(found['refused'] as object).filter((name) => !['EROFS', 'EACCES', 'EPERM'].includes(name)),
    ).toEqual([])
    const pattern = '/proc/sys/kernel/core_pattern'
    expect((await guest.run(`echo '|/workspace/evil' > ${pattern}`)).exitCode).not.toBe(0)
    expect((await guest.run(`cat ${pattern}`)).stdout).not.toContain('evil')

    const own = join(ground.directory, `settings-${starter}`)
    mkdirSync(own)
    writeFileSync(join(own, 'core_pattern'), 'core\n', { mode: 0o666 })
    ground.give(join(own, 'core_pattern'))
    expect(await reachUndefended('walk', own)).toEqual({ opened: [join(own, 'core_pattern')], refused: {} })
  })

  it('sysrq, kcore and kmsg are out of reach', async () => {
    const secrets = ['/proc/kcore', '/proc/kmsg', '/dev/kmsg', '/dev/mem', '/dev/kmem', '/dev/port', '/proc/kpagecount']
    const triggers = ['/proc/sysrq-trigger', '/proc/self/mem/../../sysrq-trigger', '/proc/irq/default_smp_affinity']
    const read = Object.values(await reach('read', ...secrets))
    const written = Object.values(await reach('write', ...triggers))
    expect(read).toHaveLength(secrets.length)
    for (const answer of [...read, ...written]) expect(answer).toMatch(/^(EACCES|EPERM|ENOENT|ENOTDIR|EROFS)$/)

    const own = join(ground.directory, `trigger-${starter}`)
    writeFileSync(own, '')
    ground.give(own)
    expect(await reachUndefended('write', own)).toEqual({ [own]: 'OPENED' })
    expect(await reachUndefended('read', own)).toEqual({ [own]: 'OPENED' })
  })

  it('/sys and control groups are not there', async () => {
    const look =
      'ls /sys 2>&1; grep -E " - (cgroup|cgroup2|sysfs|debugfs|tracefs|securityfs|bpf) " /proc/self/mountinfo; true'
    expect((await guest.run(look)).stdout).toBe("ls: cannot access '/sys': No such file or directory\n")
    const handles = ['/sys/kernel/uevent_helper', '/sys/fs/cgroup/release_agent', '/sys/fs/cgroup/cgroup.procs']
    expect(new Set(Object.values(await reach('write', ...handles)))).toEqual(new Set(['ENOENT']))
    expect((await undefended(look)).stdout).toMatch(/ - (cgroup|cgroup2|sysfs) /)
  })

  it('a user namespace cannot be made inside', async () => {
    const calls = ['clone', 'clone_high_bits', 'clone3', 'unshare_user', 'unshare_all']
    expectAnswers(answers, Object.fromEntries(calls.map((name) => [name, name === 'clone3' ? 'ENOSYS' : 'EPERM'])))
    expectAnswers(control, { clone: 'OK', clone_high_bits: 'OK', clone3: 'OK', unshare_user: 'OK', unshare_all: 'OK' })
    // No image need have a bwrap.
    const byBwrap = attackedBackend === 'bwrap' ? ['/usr/bin/bwrap --ro-bind / / echo made'] : []
    for (const command of ['/usr/bin/unshare -Ur echo made', ...byBwrap]) {
      expect(await guest.run(command)).toMatchObject({ stdout: '', exitCode: 1 })
      expect((await undefended(command)).stdout, 'control').toBe('made\n')
    }
  })

  it('mounts can be neither peeled off nor laid', async () => {
    const calls = [
      'mount',
      'umount2',
      'open_tree',
      'open_tree_attr',
      'move_mount',
      'fsopen',
      'fsconfig',
      'fsmount',
      'fspick',
      'mount_setattr',
    ]
    // Filters and kernels other than bwrap's may not know them at all.
    const refusal = attackedBackend === 'bwrap' ? /^EPERM$/ : /^(EPERM|ENOSYS)$/
    for (const name of calls) expect(answers.get(name), name).toMatch(refusal)
    expectOtherwise(control, { mount: 'EPERM', umount2: 'EPERM', open_tree: 'EPERM', mount_setattr: 'EPERM' })
    const peel =
      'umount -l /workspace/.git; mount -o remount,rw /usr; mount -t tmpfs x /workspace; mount --bind /tmp /etc'
    const plant = 'touch /usr/planted /etc/planted /workspace/.git/planted'
    const seen = 'ls /usr/planted /etc/planted /workspace/.git/planted; cut -d" " -f4-6 /proc/self/mountinfo'
    const both = await guest.run(`before=$(${seen}); ${peel}; ${plant}; [ "$(${seen})" = "$before" ] && echo unchanged`)
    expect(both.stdout).toBe('unchanged\n')
    expect((await guest.run(seen)).stdout).toMatch(/\bro\b/)
    expect(
      (await undefended('unshare -Urm sh -c "mount -t tmpfs x /mnt && touch /mnt/planted && ls /mnt"')).stdout,
    ).toBe('planted\n')
  })

  it('another root or namespace cannot be entered', async () => {
    const unknown = isGvisor ? 'EOPNOTSUPP' : 'EPERM'
    expectAnswers(answers, { setns: unknown, pivot_root: 'EPERM', chroot: 'EPERM', open_by_handle_at: unknown })
    expectOtherwise(control, { setns: 'EPERM', chroot: 'EPERM' })
    const entering = await guest.run('/usr/sbin/chroot /workspace; nsenter -t 1 -a echo entered')
    expect(entering).toMatchObject({
      stdout: '',
      stderr: expect.stringMatching(
        isGvisor
          ? /Operation not permitted[^]*No such file/
          : /Operation not permitted[^]*(Operation not permitted|Permission denied)/,
      ) as string,
    })
    expect((await undefended('unshare -Ur /usr/sbin/chroot / /bin/echo entered')).stdout).toBe('entered\n')
  })

  it('a process cannot be traced', () => {
    const refused = {
      ptrace: 'EPERM',
      process_vm_readv: 'EPERM',
      process_vm_writev: 'EPERM',
      pidfd_getfd: 'EPERM',
      kcmp: 'EPERM',
    }
    expectAnswers(answers, refused)
    expectAnswers(control, { ptrace: 'OK', process_vm_readv: 'OK', process_vm_writev: 'OK', pidfd_getfd: 'OK' })
  })

  it('io_uring is not there to pass by the filter', () => {
    const refused = { io_uring_setup: 'ENOSYS', io_uring_enter: 'ENOSYS', io_uring_register: 'ENOSYS' }
    expectAnswers(answers, refused)
    expectOtherwise(control, refused)
  })

  it("the operator's keyring is out of reach", () => {
    const refusal = isGvisor ? 'EACCES' : 'EPERM'
    const refused = { keyctl: refusal, add_key: refusal, request_key: refusal }
    expectAnswers(answers, refused)
    expectOtherwise(control, refused)
  })

  // Loading a kernel or a module is refused to the control too, for want of a capability; userfaultfd shows that it asks.
  it('bpf, perf, userfaultfd, kexec and modules are refused', () => {
    const refused = [
      'bpf',
      'perf_event_open',
      'userfaultfd',
      'kexec_load',
      'kexec_file_load',
      'init_module',
      'finit_module',
      'reboot',
    ]
    const unknown = isGvisor ? { perf_event_open: 'ENODEV', userfaultfd: 'ENOSYS' } : {}
    expectAnswers(answers, { ...Object.fromEntries(refused.map((name) => [name, 'EPERM'])), ...unknown })
    expectAnswers(control, { userfaultfd: 'OK' })
    expectOtherwise(control, { perf_event_open: 'EPERM' })
  })

  it('seldom used socket families are not there', () => {
    expectAnswers(answers, {
      socket_netlink_netfilter: 'EPROTONOSUPPORT',
      socket_netlink_generic: 'EPROTONOSUPPORT',
      // gVisor knows it, and asks for a capability.
      socket_packet: isGvisor ? 'EPERM' : 'EAFNOSUPPORT',
      socket_vsock: 'EAFNOSUPPORT',
      socket_alg: 'EAFNOSUPPORT',
      socket_raw: 'EPERM',
    })
    expectAnswers(control, { socket_netlink_generic: 'OK' })
    expectOtherwise(control, { socket_packet: 'EAFNOSUPPORT' })
  })

  it('only harmless devices are there', async () => {
    const list =
      'cd /dev; for name in *; do [ ! -L $name ] && { [ -c $name ] || [ -b $name ]; } && echo $name; done; true'
    // gVisor shows devices of its own kernel's, which only its root could use.
    const own = isGvisor ? ['fuse', 'net/tun'] : []
    expect((await guest.run(list)).stdout.trim().split('\n')).toEqual([
      'full',
      ...own.slice(0, 1),
      'null',
      'random',
      'tty',
      'urandom',
      'zero',
    ])
    const wanted = [
      'kvm',
      'fuse',
      'mem',
      'nvidia0',
      'vsock',
      'loop-control',
      'dri',
      'net/tun',
      'userfaultfd',
      'vda',
      'sda',
    ]
    const devices = wanted.filter((name) => !own.includes(name)).map((name) => `/dev/${name}`)
    expect(new Set(Object.values(await reach('read', ...devices)))).toEqual(new Set(['ENOENT']))
    expect((await undefended(list)).stdout.trim().split('\n').length).toBeGreaterThan(6)
  })
})
