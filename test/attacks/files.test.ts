// The guest tries to read, write or keep files that are not its own: through paths, links, mounts, and the host's file actions.
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { probeFile, starters, undefended, type Guest, type RunResult } from './host.ts'
import { attackScene, refused, secret } from './scene.ts'

const refusal = (code: string): unknown => expect.objectContaining({ code })

describe.each(starters)('files, started by %s', (starter) => {
  const scene = attackScene(starter)
  let guest: Guest
  /** A file of the operator's that everybody may read and, on the host, somebody could write. */
  let outside: string
  beforeAll(async () => {
    guest = await scene.host().sandbox()
    outside = scene.put(scene.host().directory, 'outside/secret', secret, 0o666)
  })
  const unharmed = (): void => expect(readFileSync(outside, 'utf8')).toBe(secret)
  const leaks = (result: RunResult): boolean => `${result.stdout}${result.stderr}`.includes(secret)
  const guestWith = (hostPath: string, extra: object = {}): Promise<Guest> =>
    scene.host().sandbox({ mounts: [{ guestPath: '/workspace', hostPath }], ...extra })

  it('a path that climbs out of the mounts is refused by the file actions', async () => {
    const climbs = [
      '../../etc/passwd',
      '/workspace/../../etc/passwd',
      '/etc/passwd',
      outside,
      '/proc/self/root/etc/passwd',
    ]
    for (const path of climbs) {
      expect(await guest.execute('read_text', { path }), path).toMatchObject({ ok: false, code: 'OUTSIDE_MOUNTS' })
      expect(await guest.execute('write_text', { path, text: 'x' }), path).toEqual(refused)
    }
    unharmed()
    expect(
      (await undefended(['cat', `${scene.host().directory}/x/../outside/secret`.replace('/x/..', '')])).stdout,
    ).toBe(secret)
  })

  it('a link to the outside reads and writes nothing outside', async () => {
    for (const name of ['out-file', 'dangling', 'out-directory']) rmSync(join(guest.workspace, name), { force: true })
    symlinkSync(outside, join(guest.workspace, 'out-file'))
    symlinkSync(join(outside, '..'), join(guest.workspace, 'out-directory'))
    symlinkSync(join(outside, '../new'), join(guest.workspace, 'dangling'))
    const attack =
      'cat out-file out-directory/secret; echo x > out-file; echo x > out-directory/secret; echo x > dangling; mkdir -p out-directory/a/b'
    expect(leaks(await guest.run(attack))).toBe(false)
    for (const path of ['out-file', 'out-directory/secret', 'out-directory/missing/deep/file', 'dangling']) {
      expect(await guest.execute('read_text', { path }), path).toEqual(refused)
      expect(await guest.execute('append_text', { path, text: 'x' }), path).toEqual(refused)
    }
    expect(await guest.execute('write_text', { path: 'out-directory/missing/deep/file', text: 'x' })).toMatchObject({
      ok: false,
    })
    expect(await guest.execute('write_text', { path: 'dangling', text: 'x' })).toEqual(refused)
    unharmed()
    expect(readdirSync(join(outside, '..'))).toEqual(['secret'])
    const control = scene.control()
    scene.putControl(control, 'outside/secret', secret)
    expect((await undefended('ln -s outside/secret link; cat link; echo x > link', { cwd: control })).stdout).toBe(
      secret,
    )
    expect(readFileSync(join(control, 'outside/secret'), 'utf8')).toBe('x\n')
  })

  it('a project that brings .glovebox as a link is refused', async () => {
    const directory = scene.host().makeDirectory('brought')
    symlinkSync('../outside', join(directory, '.glovebox'))
    await expect(guestWith(directory)).rejects.toMatchObject({
      code: expect.stringMatching(/LINK_REFUSED|PROTECTED|OUTSIDE_MOUNTS|NOT_A_DIRECTORY/),
    })
    expect(readdirSync(join(outside, '..'))).toEqual(['secret'])
    rmSync(join(directory, '.glovebox'))
    await (await guestWith(directory)).kill()
    expect(existsSync(join(directory, '.glovebox/sandbox')), 'control').toBe(true)
  })

  it('a symlinked protected path is refused', async () => {
    for (const target of [join(outside, '..'), '/oldroot/etc', 'elsewhere']) {
      const directory = scene.host().makeDirectory(`linked-${target.replaceAll('/', '-')}`)
      symlinkSync(target, join(directory, '.vscode'))
      await expect(guestWith(directory), target).rejects.toEqual(refusal('PROTECTED'))
    }
    const control = await guestWith(scene.host().makeDirectory('not-linked'))
    expect((await control.run('ls -d .vscode')).stdout, 'control').toBe('.vscode\n')
    await control.kill()
  })

  it('a protected name that became a link is refused before the next exec', async () => {
    const live = await scene.host().sandbox()
    await live.run('true')
    const name = join(live.workspace, '.vscode')
    renameSync(name, `${name}.old`)
    symlinkSync('/oldroot/etc', name)
    await expect(live.run('touch ran')).rejects.toEqual(refusal('PROTECTED'))
    expect(existsSync(join(live.workspace, 'ran'))).toBe(false)
    rmSync(name)
    renameSync(`${name}.old`, name)
    expect((await live.run('touch ran')).exitCode, 'control').toBe(0)
    await live.kill()
  })

  it("a mount's host path swapped for a link after creation is not followed", async () => {
    const directory = scene.host().makeDirectory('swapped')
    scene.put(directory, 'inner/mine', 'mine')
    const live = await scene.host().sandbox({
      mounts: [
        { guestPath: '/workspace', hostPath: directory },
        { guestPath: '/inner', hostPath: join(directory, 'inner'), mode: 'ro' },
      ],
    })
    await live.run(`mv inner moved && ln -s ${join(outside, '..')} inner`)
    expect(lstatSync(join(directory, 'inner')).isSymbolicLink(), 'the swap took place').toBe(true)
    const seen = await live.run('cat /inner/*').catch((error: Error) => ({ stdout: '', stderr: error.message }))
    expect(`${seen.stdout}${seen.stderr}`).not.toContain(secret)
    expect(await live.execute('read_text', { path: '/inner/secret' })).toEqual(refused)
    await live.kill()
    // The control: a path that is opened anew follows the link.
    expect((await undefended(['cat', join(directory, 'inner/secret')])).stdout).toBe(secret)
  })

  it('a read-only mount inside a writable one cannot be uncovered by moving its parent', async () => {
    const directory = scene.host().makeDirectory('covered')
    const file = scene.put(directory, 'a/data/file', 'original')
    const live = await scene.host().sandbox({
      mounts: [
        { guestPath: '/workspace', hostPath: directory },
        { guestPath: '/workspace/a/data', hostPath: join(directory, 'a/data'), mode: 'ro' },
      ],
    })
    await live.run('echo CHANGED > a/data/file; mv a b; mkdir -p a/data; echo CHANGED > b/data/file')
    await live.run('echo CHANGED > b/data/file; echo CHANGED > a/data/file').catch(() => undefined)
    expect(existsSync(file)).toBe(true)
    expect(readFileSync(file, 'utf8')).toBe('original')
    expect((await live.run('echo x > a/beside && cat a/beside')).stdout, 'control').toBe('x\n')
    await live.kill()
  })

  it('a hidden file stays hidden when its directory is moved', async () => {
    const directory = scene.host().makeDirectory('hidden')
    scene.put(directory, 'deep/secrets/key', secret)
    scene.put(directory, 'deep/plain', 'plain')
    const live = await guestWith(directory, { settings: { denyRead: ['/workspace/deep/secrets/key'] } })
    const first = await live.run(
      'cat deep/secrets/key; mv deep/secrets s2; mv deep d2; mkdir -p deep/secrets; touch deep/secrets/key; cat s2/key d2/secrets/key',
    )
    const second = await live.run(
      'cat s2/key d2/secrets/key deep/secrets/key; ln deep/secrets/key l; cat l; dd if=deep/secrets/key',
    )
    expect([leaks(first), leaks(second)]).toEqual([false, false])
    for (const path of ['deep/secrets/key', 's2/key', 'd2/secrets/key'])
      expect(await live.execute('read_text', { path }), path).toEqual(refused)
    expect(await live.execute('grep_text', { pattern: 'secret of' })).not.toMatchObject({ value: { matches: [{}] } })
    expect((await live.run('cat deep/plain')).stdout, 'control').toBe('plain')
    await live.kill()
    const control = scene.control()
    scene.putControl(control, 'secrets/key', secret)
    expect((await undefended('mv secrets s2; cat s2/key', { cwd: control })).stdout).toBe(secret)
  })

  it('a masked directory is neither listable nor writable', async () => {
    const directory = scene.host().makeDirectory('masked')
    scene.put(directory, 'secrets/key', secret)
    const live = await guestWith(directory, { settings: { denyRead: ['/workspace/secrets'] } })
    const tried = await live.run(
      'ls secrets; cat secrets/key; touch secrets/x; chmod 777 secrets; ls secrets; mv secrets s2; cat s2/key; rmdir secrets; cat /proc/self/root/workspace/secrets/key',
    )
    expect(tried.stdout).toBe('')
    expect(leaks(tried)).toBe(false)
    expect(readdirSync(join(directory, 'secrets'))).toEqual(['key'])
    expect(await live.execute('list_dir', { path: 'secrets' })).toEqual(refused)
    await live.kill()
    const control = scene.control()
    scene.putControl(control, 'secrets/key', secret)
    expect((await undefended('mv secrets s2; cat s2/key', { cwd: control })).stdout).toBe(secret)
  })

  it('a hidden file inside a readable directory stays hidden, and what is writable below stays writable', async () => {
    const directory = scene.host().makeDirectory('ordered')
    scene.put(directory, 'data/key', secret)
    scene.put(directory, 'data/open', 'open')
    scene.put(directory, 'data/out/x', '')
    const live = await scene.host().sandbox({
      mounts: [
        { guestPath: '/workspace', hostPath: directory },
        { guestPath: '/workspace/data', hostPath: join(directory, 'data'), mode: 'ro' },
        { guestPath: '/workspace/data/out', hostPath: join(directory, 'data/out') },
      ],
      settings: { denyRead: ['/workspace/data/key'] },
    })
    expect((await live.run('cat data/open; cat data/key; echo x > data/open; echo w > data/out/w')).stdout).toBe('open')
    expect(readFileSync(join(directory, 'data/open'), 'utf8')).toBe('open')
    expect(readFileSync(join(directory, 'data/out/w'), 'utf8'), 'control').toBe('w\n')
    await live.kill()
  })

  it('a vault that another mount shows is refused', async () => {
    const directory = scene.host().makeDirectory('vaulted')
    scene.put(directory, 'v/key', secret)
    const mounts = (vault: string) => [
      { guestPath: '/workspace', hostPath: directory },
      { guestPath: vault, hostPath: join(directory, 'v'), mode: 'vault' as const },
    ]
    await expect(scene.host().sandbox({ mounts: mounts('/vault') })).rejects.toEqual(refusal('INVALID_INPUT'))
    const live = await scene.host().sandbox({ mounts: mounts('/workspace/v') })
    expect((await live.run('ls v')).stdout, 'control').toBe('key\n')
    expect(leaks(await live.run('cat v/key; mv v w; cat w/key'))).toBe(false)
    await live.kill()
  })

  it('a hard link to a file outside cannot be made', async () => {
    const linked = await guest.run(`ln ${outside} stolen; ln /etc/passwd stolen; ln /proc/self/exe stolen`)
    expect(linked.exitCode).not.toBe(0)
    expect(existsSync(join(guest.workspace, 'stolen'))).toBe(false)
    const control = scene.control()
    scene.putControl(control, 'outside', secret)
    expect((await undefended('ln outside stolen; cat stolen', { cwd: control })).stdout).toBe(secret)
  })

  it('a file with a second name outside is not read or written by the file actions', async () => {
    linkSync(outside, join(guest.workspace, 'second-name'))
    expect(await guest.execute('read_text', { path: 'second-name' })).toMatchObject({ ok: false, code: 'LINK_REFUSED' })
    await guest.execute('append_text', { path: 'second-name', text: 'x' })
    await guest.execute('write_text', { path: 'second-name', text: 'x' })
    await guest.execute('replace_text', { path: 'second-name', oldText: 'secret', newText: 'x' })
    unharmed()
    rmSync(join(guest.workspace, 'second-name'), { force: true })
    linkSync(outside, join(guest.workspace, 'second-name'))
    expect((await guest.run('cat second-name')).stdout, 'control: a command, which is declared not to be held').toBe(
      secret,
    )
    rmSync(join(guest.workspace, 'second-name'))
  })

  it('the root of another process is the same root', async () => {
    const attack = `cat /proc/self/root${outside} /proc/1/root${outside} /proc/${scene.host().pid}/root${outside} /proc/$PPID/cwd/../outside/secret /proc/1/cwd${outside}`
    expect(leaks(await guest.run(attack))).toBe(false)
    expect((await undefended(`cat /proc/self/root${outside}`)).stdout).toBe(secret)
  })

  it('a path with a NUL is refused', async () => {
    for (const path of ['plain\0', '/workspace/ok\0/../../etc/passwd', '\0'])
      expect(await guest.execute('read_text', { path }), path).toMatchObject({
        ok: false,
        code: expect.stringMatching(/INVALID/),
      })
    await expect(guest.run(['cat', 'a\0b'])).rejects.toEqual(refusal('INVALID_INPUT'))
    await expect(guest.run('true', { cwd: '/workspace\0/etc' })).rejects.toMatchObject({
      code: expect.stringMatching(/INVALID/),
    })
    await expect(guest.run('true', { env: { A: 'x\0LD_PRELOAD=y' } })).rejects.toEqual(refusal('INVALID_ENV'))
    await expect(guestWith(`${guest.workspace}\0x`)).rejects.toMatchObject({ code: expect.stringMatching(/INVALID/) })
    expect((await guest.execute('read_text', { path: 'missing' })).ok, 'control').toBe(false)
    expect((await guest.run(['printf', 'plain'])).stdout, 'control').toBe('plain')
  })

  it('names with newlines, globs, quotes and dashes neither widen nor break the boundary', async () => {
    const names = [
      'new\nline',
      '*',
      '[a-z]',
      '--bind',
      '-rf',
      "quo'te",
      '")(',
      '$(touch planted)',
      '--',
      'ünï',
      ' ',
      '%s',
    ]
    for (const [index, name] of names.entries()) {
      const directory = scene.host().makeDirectory(`odd-${index}-${name}`)
      const live = await scene.host().sandbox({
        mounts: [
          { guestPath: '/workspace', hostPath: directory },
          { guestPath: `/mnt/${name}`, hostPath: directory, mode: 'ro' },
        ],
        settings: { protect: [name] },
      })
      const cwd = `/mnt/${name}`
      const tried = await live.run(
        ['/bin/sh', '-c', `pwd; cat ${JSON.stringify(outside)}; echo x > ./planted; echo x > /workspace/plain`],
        { cwd },
      )
      expect(tried.stdout, name).toBe(`${cwd}\n`)
      expect(await live.execute('write_text', { path: `/workspace/${name}`, text: 'x' }), name).toEqual(refused)
      expect(readdirSync(directory), name).not.toContain('planted')
      expect(readdirSync(directory), name).toContain('plain')
      await live.kill()
      expect(readdirSync(directory).toSorted(), name).toEqual(['.glovebox', 'plain'])
    }
  })

  it('options of bwrap in arguments, names and variables stay plain text', async () => {
    const host = scene.host().directory
    const bind = ['--bind', host, '/stolen']
    expect((await guest.run(['printf', '%s\n', ...bind, '--', '--args', '3'])).stdout).toBe(
      `--bind\n${host}\n/stolen\n--\n--args\n3\n`,
    )
    await expect(guest.run(['--bind', '/', '/stolen', 'ls'])).rejects.toEqual(refusal('INVALID_INPUT'))
    await expect(guest.run('true', { env: { '--bind': '/' } })).rejects.toEqual(refusal('INVALID_ENV'))
    await expect(guest.run('true', { env: { 'A=B': 'x' } })).rejects.toEqual(refusal('INVALID_ENV'))
    const passed = await guest.run('ls /stolen; printf "%s" "$A"', { env: { A: `x\n--bind ${host} /stolen` } })
    expect(passed.stdout).toBe(`x\n--bind ${host} /stolen`)
    mkdirSync(join(guest.workspace, '--bind'))
    expect((await guest.run(['pwd'], { cwd: '--bind' })).stdout).toBe('/workspace/--bind\n')
    await expect(scene.host().sandbox({ mounts: [{ guestPath: '--bind', hostPath: host }] })).rejects.toEqual(
      refusal('INVALID_INPUT'),
    )
    // The control: the same words before the command are taken by a bwrap.
    const control = ['bwrap', '--bind', '/', '/', '--bind', join(outside, '..'), '/mnt', 'cat', '/mnt/secret']
    expect((await undefended(control)).stdout).toBe(secret)
  })

  it('a path that is too long and three thousand mounts end in an error of their own', async () => {
    const long = `/workspace/${'x'.repeat(300)}`
    expect(await guest.execute('write_text', { path: long, text: 'x' })).toMatchObject({
      ok: false,
      code: expect.not.stringMatching('INTERNAL|UNEXPECTED'),
    })
    const deep = `/workspace/${'d/'.repeat(3000)}`
    expect(await guest.execute('mkdir', { path: deep })).toMatchObject({
      ok: false,
      code: expect.not.stringMatching('INTERNAL|UNEXPECTED'),
    })
    await expect(guest.run(['true', 'x'.repeat(200_000)])).rejects.toEqual(refusal('TOO_LARGE'))
    const hostPath = scene.host().makeDirectory('many')
    const mounts = Array.from({ length: 3000 }, (_, index) => ({
      guestPath: `/m/${index}`,
      hostPath,
      mode: 'ro' as const,
    }))
    const started = scene
      .host()
      .sandbox({ mounts })
      .then((live) => live.run('true'))
    await expect(started).rejects.toMatchObject({ code: expect.stringMatching(/TOO_LARGE|INVALID_INPUT/) })
    expect((await guest.run('true')).exitCode, 'control').toBe(0)
  })

  it('a FIFO, a socket and a device do not hang the file actions', async () => {
    await guest.run('mkfifo fifo; ln -s fifo to-fifo; ln -s /dev/zero zero')
    await guest.run(['python3', '-c', 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'])
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
    const file = scene.put(guest.workspace, 'as-owner', '')
    writeFileSync(file, readFileSync('/usr/bin/id'))
    chmodSync(file, 0o6755)
    expect((await guest.run('./as-owner -u; ./as-owner -ru; grep -h NoNewPrivs /proc/self/status')).stdout).toBe(
      '1000\n1000\nNoNewPrivs:\t1\n',
    )
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
    await guest.run('echo mine > /tmp/mine; echo mine > /dev/shm/mine; echo mine > /var/tmp/mine')
    expect((await other.run('ls -A /tmp /dev/shm /var/tmp/')).stdout).not.toContain('mine')
    for (const name of ['/tmp/mine', '/dev/shm/mine', '/var/tmp/mine']) expect(existsSync(name), name).toBe(false)
    await other.kill()
    const control = scene.control()
    await undefended(`echo mine > ${control}/mine`)
    expect((await undefended(`cat ${control}/mine`)).stdout, 'control').toBe('mine\n')
  })

  it('a crash leaves no core file', async () => {
    const tried = await guest.run('ulimit -c unlimited; ulimit -c; sh -c "kill -SEGV \\$\\$"; ls')
    expect(tried.stdout.split('\n')[0]).toBe('0')
    expect(readdirSync(guest.workspace).filter((name) => name.startsWith('core'))).toEqual([])
    expect((await guest.run('grep "core file" /proc/self/limits')).stdout).toMatch(/core file size\s+0\s+0\s/)
    const control = await undefended('grep "core file" /proc/self/limits')
    expect(control.stdout, 'control: the machine itself sets no such limit').not.toMatch(/core file size\s+0\s+0\s/)
  })

  it("the host's root and its kernel directories cannot be mounted", async () => {
    symlinkSync('/proc', join(scene.host().directory, 'to-proc'))
    const places = [
      '/',
      '/proc',
      '/sys',
      '/dev',
      '/proc/1',
      '/sys/fs/cgroup',
      '//',
      '/etc/..',
      '/dev/shm',
      join(scene.host().directory, 'to-proc'),
    ]
    for (const hostPath of places) await expect(guestWith(hostPath), hostPath).rejects.toEqual(refusal('INVALID_INPUT'))
    for (const guestPath of ['/', '/proc', '/dev/x', '/usr/bin', '/etc', '/home/agent', '/.glovebox', '/lib64'])
      await expect(
        scene.host().sandbox({ mounts: [{ guestPath, hostPath: guest.workspace }] }),
        guestPath,
      ).rejects.toEqual(refusal('INVALID_INPUT'))
    const fine = await guestWith(scene.host().makeDirectory('fine'))
    expect((await fine.run('true')).exitCode, 'control').toBe(0)
    await fine.kill()
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
