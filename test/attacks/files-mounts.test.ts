// The guest tries to get around what is laid over its files: mounts, masks, guards over protected names.
import { existsSync, lstatSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { starters, undefended, type Guest, type RunResult } from './host.ts'
import { attackScene, refused, secret } from './scene.ts'

const refusal = (code: string): unknown => expect.objectContaining({ code })

describe.each(starters)('files of mounts, started by %s', (starter) => {
  const scene = attackScene(starter)
  let guest: Guest
  /** A file of the operator's that everybody may read and, on the host, somebody could write. */
  let outside: string
  beforeAll(async () => {
    guest = await scene.host().sandbox()
    outside = scene.put(scene.host().directory, 'outside/secret', secret, 0o666)
  })
  const leaks = (result: RunResult): boolean => `${result.stdout}${result.stderr}`.includes(secret)
  const guestWith = (hostPath: string, extra: object = {}): Promise<Guest> =>
    scene.host().sandbox({ mounts: [{ guestPath: '/workspace', hostPath }], ...extra })

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

  it('a hidden path that leads through a link is refused', async () => {
    const directory = scene.host().makeDirectory('hidden-by-link')
    scene.put(directory, 'real/key', secret)
    symlinkSync('real', join(directory, 'link'))
    const hide = (path: string): Promise<Guest> => guestWith(directory, { settings: { denyRead: [path] } })
    await expect(hide('/workspace/link/key')).rejects.toEqual(refusal('BOUNDARY_FAILED'))
    await expect(hide('/workspace/link')).rejects.toEqual(refusal('BOUNDARY_FAILED'))
    const live = await hide('/workspace/real/key')
    expect(leaks(await live.run('cat real/key link/key'))).toBe(false)
    expect(await live.execute('read_text', { path: 'link/key' })).toEqual(refused)
    await live.kill()
    const control = await guestWith(directory)
    expect((await control.run('cat link/key')).stdout, 'control').toBe(secret)
    await control.kill()
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
})
