// Who the guest is to the kernel, and what bwrap is told: the walls that stand before any interface is asked.
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findBwrap } from '../../src/backends/bwrap/facts.ts'
import { guestKernelId } from '../../src/backends/bwrap/launcher/kernel-id.ts'
import { attackedBackend, isGvisor, openControlGround, openHost, starters, undefended } from './host.ts'
import type { AttackHost, Guest } from './host.ts'
import { comesToPass, lineageOf, processesWith, seenProcess } from './host-view.ts'
import { typedFromInside, typedUndefended } from './terminal.ts'

describe.each(starters)('the guest in the eyes of the kernel, started by %s', (starter) => {
  let host: AttackHost
  let guest: Guest
  beforeAll(async () => {
    host = await openHost(starter)
    guest = await host.sandbox()
  })
  afterAll(() => host.close())

  it('the guest has no capability', async () => {
    const ask = 'grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status /proc/1/status -h | tr -d "\\t"'
    // gVisor knows nothing of the last three: nothing has privileges to gain there, and it filters no calls but answers them.
    const sets = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', ...(isGvisor ? [] : ['CapAmb'])]
    const none = sets.map((name) => `${name}:0000000000000000`)
    const expected = [...none, ...(isGvisor ? ['Seccomp:0'] : ['NoNewPrivs:1', 'Seccomp:2'])]
    expect((await guest.run(ask)).stdout.trim().split('\n')).toEqual([...expected, ...expected])
    expect((await undefended(`unshare -Ur ${ask}`)).stdout).toMatch(/CapEff:0*[1-9a-f]/)
  })

  // no_new_privs is bwrap's own doing, so the control reads the same line of a process that bwrap did not start: this one.
  it('set-id programs of the system give nothing', async () => {
    const setId = (await guest.run('find /usr/bin /usr/sbin -perm /6000 -type f')).stdout.trim().split('\n')
    expect(setId.length).toBeGreaterThan(1)
    expect((await guest.run('/usr/bin/mount --bind /tmp /etc')).stderr).toContain('must be superuser')
    expect((await guest.run('/usr/bin/passwd -S root; /usr/bin/su -c id root < /dev/null')).stdout).toBe('')
    const mayGain = ['python3', '-c', 'import ctypes; print(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))']
    expect((await guest.run(mayGain)).stdout, 'no_new_privs').toBe('1\n')
    // An image's root is mounted without nosuid; that programs gain no privileges is enough.
    if (attackedBackend === 'bwrap')
      expect((await guest.run('grep " /usr " /proc/self/mountinfo')).stdout).toMatch(/nosuid/)
    expect(readFileSync('/proc/self/status', 'utf8')).toMatch(/NoNewPrivs:\t0/)
  })

  it("the guest is not root in the kernel's eyes", async () => {
    const marker = `607.${process.pid}${starter === 'root' ? 1 : 2}`
    const running = guest.run(['sleep', marker])
    const expected = starter === 'root' ? guestKernelId : host.uid
    // bwrap outside, its first process inside, and the command: none of them is root, none has a group of root's.
    expect(await comesToPass(() => processesWith(marker).length === 1, 20_000)).toBe(true)
    const lineage = lineageOf(processesWith(marker)[0]?.pid ?? 0, host.pid)
    // In a container: the command, the process that waits for it, and the keeper. What is above belongs to the daemon.
    const seen = attackedBackend === 'docker' ? lineage.slice(0, 3) : lineage
    expect(seen.length).toBeGreaterThanOrEqual(3)
    for (const { uids, gids, groups } of seen) {
      expect(new Set([...uids, ...gids])).toEqual(new Set([expected]))
      expect(groups.filter((group) => group !== expected)).toEqual([])
    }
    if (starter === 'root') expect(seenProcess(process.pid)?.uids).toContain(0)
    else expect(expected).not.toBe(0)
    for (const { pid } of seen.slice(0, 1)) process.kill(pid, 'SIGKILL')
    await running
  })

  it('a command is never read as an option of bwrap', async () => {
    const secret = join(host.directory, 'secret')
    writeFileSync(secret, 'canary', { mode: 0o644 })
    const options = ['--ro-bind', '/', '/', 'cat', secret]
    for (const command of [options, ['--', ...options], ['--args', '0']])
      await expect(guest.run(command, { stdin: options.join('\0') })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    // In every other place where a caller's text stands among bwrap's words.
    const env = { A: `x\n--ro-bind\n/\n/`, B: '--ro-bind' }
    expect(await guest.run(['cat', secret], { env })).toMatchObject({ exitCode: 1, stdout: '' })
    expect(await guest.run(['cat', '--', ...options])).toMatchObject({ exitCode: 1, stdout: '' })
    mkdirSync(join(guest.workspace, '--ro-bind'))
    expect((await guest.run(['pwd'], { cwd: '--ro-bind' })).stdout).toBe('/workspace/--ro-bind\n')
    const words = 'x\0--ro-bind\0/\0/'
    await expect(guest.run(['cat', secret], { env: { A: words } })).rejects.toMatchObject({ code: 'INVALID_ENV' })
    await expect(guest.run(['cat', secret], { cwd: `/${words}` })).rejects.toMatchObject({ code: 'INVALID_PATH' })
    await expect(guest.run([`cat${words}`, secret])).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    expect((await undefended(['/usr/bin/bwrap', ...options])).stdout).toBe('canary')
  })

  it('the terminal of the host cannot be typed into', async () => {
    // Only bwrap's filter refuses to ask. Elsewhere whoever asks is told that it is no terminal.
    const refusal = attackedBackend === 'bwrap' ? 'EPERM' : 'ENOTTY'
    const absent = isGvisor ? 'EIO' : 'ENXIO'
    expect(await typedFromInside(host)).toEqual({
      streams: [false, false, false],
      typed: [refusal, refusal, refusal, absent],
      terminal: absent,
    })
    // A kernel may have switched TIOCSTI off for all (EIO); that the terminal is there to be used shows all the same.
    const control = await typedUndefended()
    expect(control).toMatchObject({ streams: [true, true, true], terminal: 'OPENED' })
    expect(['TYPED', 'EIO']).toContain(control.typed[3])
  })
})

describe('bwrap itself', () => {
  it('a setuid bwrap is refused', () => {
    const ground = openControlGround()
    const copy = join(ground.directory, 'bwrap')
    copyFileSync('/usr/bin/bwrap', copy)
    chmodSync(copy, 0o4755)
    expect(findBwrap([copy])).toMatchObject({ reason: `${copy} is setuid` })
    chmodSync(copy, 0o755)
    expect(findBwrap([copy])).not.toMatchObject({ reason: `${copy} is setuid` })
    if (process.getuid?.() === 0) expect(findBwrap([copy])).toEqual({ path: copy })
    ground.close()
  })
})
