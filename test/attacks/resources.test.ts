// A hostile program that fills what can be filled, and leaves or takes what the host did not hand it. The controls write
// a little into a directory of their own: a control that fills the machine's memory is none to be run.
import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isGvisor, openControlGround, openHost, starters, undefended } from './host.ts'
import type { AttackHost, ControlGround, Guest } from './host.ts'

let ground: ControlGround
beforeAll(() => {
  ground = openControlGround()
})
afterAll(() => ground.close())

const mebibyte = 1024 * 1024

describe.each(starters)('resources, started by %s', (starter) => {
  let host: AttackHost
  let guest: Guest
  let unisolated: Guest
  beforeAll(async () => {
    host = await openHost(starter)
    const output = { maxStdoutBytes: 64 * 1024, maxStderrBytes: 64 * 1024 }
    guest = await host.sandbox({ policy: { tmpMb: 8, shmMb: 4, ...output } })
    unisolated = await host.sandbox({ backend: 'local', policy: output })
  })
  afterAll(() => host.close())

  /** Writes until it is refused, and says how many bytes lie there. */
  const fill = async (path: string): Promise<{ readonly bytes: number; readonly stderr: string }> => {
    const told = await guest.run(`head -c 32M /dev/zero > ${path}; stat -c %s ${path} || echo 0; rm -f ${path}`)
    return { bytes: Number(told.stdout), stderr: told.stderr }
  }
  const fillUndefended = async (name: string): Promise<number> => {
    const path = `${ground.directory}/${name}-${starter}`
    return Number((await undefended(`head -c 32M /dev/zero > ${path}; stat -c %s ${path}; rm ${path}`)).stdout)
  }

  it('the root directory cannot be filled', async () => {
    for (const path of ['/fill', '/home/fill', '/.glovebox/fill', '/var/fill', '/proc/fill']) {
      const { bytes, stderr } = await fill(path)
      expect({ path, bytes }).toEqual({ path, bytes: 0 })
      expect(stderr).toMatch(/Read-only file system|No such file|Permission denied/)
    }
    expect((await guest.run('mkdir /made; ln -s x /linked; mknod /pipe p')).exitCode).not.toBe(0)
    expect(await fillUndefended('root')).toBe(32 * mebibyte)
  })

  it('/dev cannot be filled', async () => {
    for (const path of ['/dev/fill', '/dev/pts/fill'])
      expect({ path, ...(await fill(path)) }).toMatchObject({ path, bytes: 0 })
    expect(await fillUndefended('dev')).toBe(32 * mebibyte)
  })

  it('/tmp and /dev/shm hold no more than their size', async () => {
    const [tmp, shm] = [await fill('/tmp/fill'), await fill('/dev/shm/fill')]
    expect(tmp.bytes).toBeGreaterThan(6 * mebibyte)
    expect(tmp.bytes).toBeLessThanOrEqual(8 * mebibyte)
    expect(shm.bytes).toBeGreaterThan(2 * mebibyte)
    expect(shm.bytes).toBeLessThanOrEqual(4 * mebibyte)
    for (const { stderr } of [tmp, shm]) expect(stderr).toContain('No space left on device')
    const many = await guest.run(
      'for i in 1 2 3 4 5 6; do head -c 3M /dev/zero > /tmp/many$i; done; du -sm /tmp | cut -f1',
      { timeoutMs: 9000 },
    )
    expect(Number(many.stdout)).toBeLessThanOrEqual(8)
    expect((await guest.run('ls /tmp /dev/shm')).stdout).not.toContain('many')
    expect(await fillUndefended('tmp')).toBe(32 * mebibyte)
  })

  it('core dumps are not written', async () => {
    const crash = 'ulimit -c; ulimit -c unlimited 2>/dev/null; sh -c "kill -SEGV \\$\\$"; true'
    const before = readdirSync(guest.workspace)
    const told = await guest.run(crash)
    expect(told.stdout).toBe('0\n')
    expect(readdirSync(guest.workspace)).toEqual(before)
    expect((await guest.run('ulimit -Hc')).stdout).toBe('0\n')
    // Whether the machine writes a core, and where, is its own setting; the control shows that the limit is not the same.
    expect(
      (await undefended('ulimit -Hc; sh -c "kill -SEGV \\$\\$"; echo $?', { cwd: ground.directory })).stdout,
    ).toMatch(/^(unlimited|[1-9]\d*)\n139\n$/)
  })

  it('limits once set cannot be raised inside', async () => {
    // gVisor has no number of processes to hold, and says so.
    const limits = ['r.RLIMIT_CORE', 'r.RLIMIT_FSIZE', ...(isGvisor ? [] : ['r.RLIMIT_NPROC'])]
    const raise = `import resource as r\nfor w in (${limits.join(', ')}):\n  s, h = r.getrlimit(w)\n  try:\n    r.setrlimit(w, (r.RLIM_INFINITY,) * 2); print("raised")\n  except (ValueError, OSError): print("refused", s == h)`
    expect((await guest.run(['python3', '-c', raise])).stdout).toBe('refused True\n'.repeat(limits.length))
    const lower =
      'import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (4096, -1)); r.setrlimit(r.RLIMIT_FSIZE, (-1, -1)); print("raised")'
    expect((await undefended(['/usr/bin/python3', '-c', lower])).stdout).toBe('raised\n')
  })

  // What any backend must hold, also the one that isolates nothing.
  it("the host's standard input is not read", async () => {
    for (const each of [guest, unisolated]) {
      expect((await each.run('timeout 1 cat; echo $?; readlink /proc/self/fd/0')).stdout).toBe('0\n/dev/null\n')
      expect((await each.run('cat', { stdin: 'given' })).stdout).toBe('given')
      // The host process goes on hearing its own questions, so nothing of them went inside.
      expect((await each.run('echo heard')).stdout).toBe('heard\n')
    }
    expect((await undefended('cat', { stdin: 'secret' })).stdout).toBe('secret')
  })

  it('an output flood is bounded', async () => {
    for (const each of [guest, unisolated]) {
      const told = await each.run('yes | head -c 32M; yes | head -c 32M >&2', { timeoutMs: 30_000 })
      const truncated = { stdoutTruncated: true, stderrTruncated: true, stdoutTotalBytes: 32 * mebibyte }
      expect(told).toMatchObject({ exitCode: 0, ...truncated })
      expect(told.stdout.length).toBeLessThanOrEqual(64 * 1024)
      expect(told.stderr.length).toBeLessThanOrEqual(64 * 1024)
      const endless = await each.run('yes', { timeoutMs: 500 })
      expect(endless).toMatchObject({ ended: { by: 'timeout' }, stdoutTruncated: true })
    }
    expect((await undefended('yes | head -c 1M')).stdout.length).toBe(mebibyte)
  })
})
