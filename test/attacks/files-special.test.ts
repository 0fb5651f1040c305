// The guest makes files that are more than files: devices, set-id programs, pipes, files without end.
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { isRoot } from './describe-where.ts'
import { attackedBackend, guestIdIn, isGvisor, probeFile, starters, undefended, type Guest } from './host.ts'
import { attackScene, refused } from './scene.ts'

describe.each(starters)('files of special, started by %s', (starter) => {
  const scene = attackScene(starter)
  let guest: Guest
  beforeAll(async () => {
    guest = await scene.host().sandbox()
  })

  it('a FIFO, a socket and a device do not hang the file actions', async () => {
    const special = 'mkfifo fifo; ln -s fifo to-fifo; ln -s /dev/zero zero'
    const bind = ['-c', 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'] as const
    if (isGvisor) {
      // No guest of gVisor's can make them in a mount; they may have been there before.
      execFileSync('/bin/sh', ['-c', special], { cwd: guest.workspace })
      execFileSync('python3', bind, { cwd: guest.workspace })
    } else {
      await guest.run(special)
      await guest.run(['python3', ...bind])
    }
    expect(lstatSync(join(guest.workspace, 'fifo')).isFIFO()).toBe(true)
    expect(lstatSync(join(guest.workspace, 'socket')).isSocket()).toBe(true)
    for (const path of ['fifo', 'to-fifo', 'socket', 'zero']) {
      expect(await guest.execute('read_text', { path }), path).toEqual(refused)
      expect(await guest.execute('append_text', { path, text: 'x' }), path).toEqual(refused)
      expect(await guest.execute('read_bytes', { path }), path).toEqual(refused)
    }
    expect((await guest.execute('list_dir', { path: '/workspace' })).ok).toBe(true)
    expect((await guest.execute('grep_text', { pattern: 'nothing-is-like-this' })).ok).toBe(true)
    const hung = await undefended('mkfifo fifo; cat fifo', { cwd: scene.control(), timeoutMs: 1500 })
    expect(hung.exitCode, 'control').toBe(137)
  }, 30_000)

  it('set-id bits, other owners, capabilities and devices cannot be made', async () => {
    const tried = attempts(await guest.probe('privileged_files.py'))
    expect(tried).toEqual({
      chmod: 'EPERM',
      'chmod-group': 'EPERM',
      open: expect.stringMatching(/EPERM|PLAIN/),
      tar: 'PLAIN',
      install: expect.stringMatching(/PLAIN|ENOENT/),
      'chown-root': 'EINVAL',
      'chown-other': 'EINVAL',
      capability: 'EPERM',
      device: 'EPERM',
      whiteout: 'EPERM',
    })
    const odd = readdirSync(guest.workspace).filter((name) => {
      const seen = lstatSync(join(guest.workspace, name))
      return (seen.mode & 0o6000) !== 0 || seen.isBlockDevice() || seen.isCharacterDevice()
    })
    expect(odd, 'found from outside').toEqual([])
    const control = attempts(await undefended([await probeFile('privileged_files.py')], { cwd: scene.control() }))
    expect(control).toMatchObject({ chmod: 'OK', 'chmod-group': 'OK', open: 'OK', tar: 'OK', install: 'OK' })
  })

  it('a setuid file in the workspace gives nothing', async () => {
    expect((await guest.run('cp /usr/bin/id as-owner && cp /usr/bin/id as-root')).exitCode).toBe(0)
    const [file, ofRoot] = [join(guest.workspace, 'as-owner'), join(guest.workspace, 'as-root')]
    if (isRoot) chownSync(ofRoot, 0, 0)
    for (const path of [file, ofRoot]) chmodSync(path, 0o6755)
    const own = `${guestIdIn(scene.host())}`
    for (const name of ['as-owner', 'as-root'])
      expect((await guest.run(`./${name} -u; ./${name} -ru`)).stdout, name).toBe(`${own}\n${own}\n`)
    // gVisor lets nobody gain privileges, and tells of none. A container's mounts have no nosuid; that programs gain nothing is enough.
    if (!isGvisor) expect((await guest.run('grep -h NoNewPrivs /proc/self/status')).stdout).toBe('NoNewPrivs:\t1\n')
    if (attackedBackend === 'bwrap')
      expect((await guest.run('mount')).stdout).toMatch(/ on \/workspace type \S+ \([^)]*nosuid[^)]*nodev/)
    // Writing to it takes the bits away, so that its owner never runs the guest's code with them.
    await guest.run('echo PLANTED > as-owner')
    expect(statSync(file).mode & 0o6000).toBe(0)
    const control = await undefended('cp /usr/bin/id mine; chmod 4755 mine; test -u mine && echo set', {
      cwd: scene.control(),
    })
    expect(control.stdout).toBe('set\n')
  })

  it('a file larger than the limit cannot be made', async () => {
    const live = await scene.host().sandbox({ settings: { fileSizeMb: 8 } })
    const attack =
      'truncate -s 1T sparse; fallocate -l 64M filled; dd if=/dev/zero of=written bs=1M count=64; ulimit -f unlimited'
    const tried = await live.run(attack)
    expect(tried.stderr).toMatch(/too large|limit exceeded/i)
    for (const name of ['sparse', 'filled', 'written']) {
      const seen = statSync(join(live.workspace, name), { throwIfNoEntry: false })
      expect(seen?.size ?? 0, name).toBeLessThanOrEqual(8 * 1024 * 1024)
    }
    await live.kill()
    const directory = scene.control()
    await undefended('truncate -s 1T sparse', { cwd: directory })
    expect(statSync(join(directory, 'sparse')).size, 'control').toBe(1024 ** 4)
  })

  it('a sparse file does not fill the memory of the host', async () => {
    writeFileSync(join(guest.workspace, 'sparse'), '')
    truncateSync(join(guest.workspace, 'sparse'), 1024 ** 4)
    expect(await guest.execute('read_text', { path: 'sparse' })).toMatchObject({
      ok: false,
      code: expect.stringMatching(/TOO_LARGE|NOT_TEXT/),
    })
    expect(await guest.execute('read_bytes', { path: 'sparse' })).toMatchObject({ ok: false, code: 'TOO_LARGE' })
    expect(await guest.execute('replace_text', { path: 'sparse', oldText: 'a', newText: 'b' })).toMatchObject({
      ok: false,
    })
    rmSync(join(guest.workspace, 'sparse'))
    await guest.execute('write_text', { path: 'small', text: 'x' })
    expect((await guest.execute('read_text', { path: 'small' })).ok, 'control').toBe(true)
  })

  it('/tmp and /dev/shm are private to each sandbox and each exec', async () => {
    const other = await scene.host().sandbox()
    const mine = `mine-${randomUUID()}`
    const planted = ['/tmp', '/dev/shm', '/var/tmp'].map((place) => join(place, mine))
    expect((await guest.run(`for name in ${planted.join(' ')}; do echo mine > $name; cat $name; done`)).stdout).toBe(
      'mine\n'.repeat(3),
    )
    expect((await other.run('ls -A /tmp /dev/shm /var/tmp/')).stdout).not.toContain(mine)
    for (const name of planted) expect(existsSync(name), name).toBe(false)
    await other.kill()
    const control = scene.control()
    await undefended(`echo mine > ${control}/mine`)
    expect((await undefended(`cat ${control}/mine`)).stdout, 'control').toBe('mine\n')
  })

  it('a crash leaves no core file', async () => {
    const tried = await guest.run('ulimit -c unlimited; ulimit -c; sh -c "kill -SEGV \\$\\$"; ls')
    expect(tried.stdout.split('\n')[0]).toBe('0')
    expect(readdirSync(guest.workspace).filter((name) => name.startsWith('core'))).toEqual([])
    expect((await guest.run('ulimit -Sc; ulimit -Hc')).stdout).toBe('0\n0\n')
    const control = await undefended('ulimit -Sc; ulimit -Hc')
    expect(control.stdout, 'control: the machine itself sets no such limit').toMatch(/^\w+\n(?!0\n)\w+\n$/)
  })

  it('nothing but mounts, home and temporary directories can be written', async () => {
    const places = [
      '/',
      '/usr',
      '/etc',
      '/bin',
      '/home',
      '/var',
      '/dev',
      '/proc',
      '/.glovebox',
      '/workspace/.glovebox',
      '/mnt',
      '/root',
      '/run',
    ]
    const attack = places.map((place) => `{ echo x > ${place}/planted; } 2>/dev/null && echo wrote ${place}`).join('; ')
    expect((await guest.run(`${attack}; true`)).stdout).toBe('')
    expect(
      (await guest.run('for p in /workspace /home/agent /tmp /dev/shm; do echo x > $p/planted && echo wrote; done'))
        .stdout,
      'control',
    ).toBe('wrote\n'.repeat(4))
  })
})

function attempts({ stdout }: { readonly stdout: string }): Record<string, string> {
  return Object.fromEntries([...stdout.matchAll(/^(\S+) (\S+)$/gm)].map(([, name = '', answer = '']) => [name, answer]))
}
