// The guest tries to reach files that are not its own through paths, links and names, by commands and by the file actions.
import { existsSync, linkSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { starters, undefended, type Guest, type RunResult } from './host.ts'
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
})
