// The guest plants something that a program of the host later trusts. What is tried inside is tried in the same words by
// the control, in a directory that nobody protects.
import { existsSync, linkSync, mkdirSync, readFileSync, readdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { builtInProtectedNames } from '../../src/policy/protect.ts'
import { isGvisor, starters, undefended, whereNetworkOpens, type Guest, type HostError } from './host.ts'
import { attackScene, refused } from './scene.ts'

const refusal = (code: string): unknown => expect.objectContaining({ code })

describe.each(starters)('persistence, started by %s', (starter) => {
  const scene = attackScene(starter)
  const repository = (directory: string, put = scene.put): void => {
    put(directory, '.git/HEAD', 'ref: refs/heads/main\n')
    put(directory, '.git/config', '[core]\n')
    put(directory, '.git/hooks/sample', '')
  }
  const guestIn = (hostPath: string): Promise<Guest> =>
    scene.host().sandbox({ mounts: [{ guestPath: '/workspace', hostPath }] })

  /** Tries to put `PLANTED` into each name, by every way that a shell has. */
  const planting = (names: readonly string[]): string =>
    names
      .map(
        (name) => `n='${name}'; t="$n"; [ -d "$t" ] && t="$n/planted"; mkdir -p "$(dirname "$t")"
        echo PLANTED > "$t"; echo PLANTED >> "$t"; echo PLANTED > new; mv -f new "$t"; ln -f new "$t"; ln -sfn /workspace/new "$t"
        rm -rf "$n"; mv "$n" aside; echo PLANTED > "$n"; cp new "$n"`,
      )
      .join('\n')

  const plantedIn = (directory: string, names: readonly string[]): readonly string[] =>
    names.filter((name) => ['', '/planted'].some((end) => holdsPlanted(join(directory, `${name}${end}`))))
  const holdsPlanted = (path: string): boolean => {
    try {
      return readFileSync(path, 'utf8').includes('PLANTED')
    } catch {
      return false
    }
  }

  async function expectUnplantable(
    names: readonly string[],
    prepare: (directory: string, put: typeof scene.put) => void = () => {},
  ) {
    const directory = scene.host().makeDirectory(`project-${names[0]?.replaceAll('/', '-')}-${Math.random()}`)
    prepare(directory, scene.put)
    const guest = await guestIn(directory)
    await guest.run(planting(names))
    expect(plantedIn(directory, names), 'planted while it runs').toEqual([])
    await guest.kill()
    expect(plantedIn(directory, names), 'planted when it is gone').toEqual([])
    const control = scene.control()
    prepare(control, (place, name, text) => scene.putControl(place, name, text))
    await undefended(planting(names), { cwd: control })
    expect(plantedIn(control, names).length, 'control').toBe(names.length)
  }

  const builtIn = (pattern: RegExp): readonly string[] => builtInProtectedNames.filter((name) => pattern.test(name))

  it('git hooks and configuration cannot be planted', async () => {
    await expectUnplantable(
      ['.git/hooks/pre-commit', '.git/config', '.git/config.worktree', '.git/commondir', '.gitmodules', '.gitconfig'],
      repository,
    )
    await expectUnplantable(['.git/hooks/pre-commit', '.git/config'])
  })

  it('shell start-up files cannot be planted in any writable mount', async () => {
    const names = builtIn(/^\.(bash|z|k|c|tc)|^\.(profile|login)$/).filter(
      (name) => !name.includes('c/') && name !== '.codex' && name !== '.claude' && name !== '.cursor',
    )
    await expectUnplantable(names)
    const other = scene.host().makeDirectory('a-home')
    const guest = await scene.host().sandbox({
      mounts: [
        { guestPath: '/workspace', hostPath: scene.host().makeDirectory('beside') },
        { guestPath: '/other', hostPath: other },
      ],
    })
    await guest.run(planting(names), { cwd: '/other' })
    expect(plantedIn(other, names)).toEqual([])
    await guest.kill()
  })

  it('environment loaders cannot be planted', () => expectUnplantable(builtIn(/envrc|tool-versions|mise/)))
  it('editor tasks cannot be planted', () => expectUnplantable(builtIn(/vscode|idea|devcontainer/)))
  it("an agent's settings cannot be planted where they are missing", () =>
    expectUnplantable(builtIn(/claude|codex|gemini|cursor|mcp/)))
  it('keys and commands for ssh cannot be planted', () => expectUnplantable(['.ssh/authorized_keys', '.ssh/config']))

  it('project settings cannot switch the sandbox off', async () => {
    await expectUnplantable(['glovebox.yaml'])
    const guest = await scene.host().sandbox()
    await guest.run('echo PLANTED > .glovebox/planted; rm -rf .glovebox; mv .glovebox x; ln -s /etc .glovebox')
    expect(readdirSync(join(guest.workspace, '.glovebox')).toSorted()).toEqual(['.gitignore', 'sandbox'])
    await guest.kill()
  })

  it('a protected directory cannot be moved aside', async () => {
    const attack =
      'mv .git x && mkdir -p .git/hooks && echo PLANTED > .git/hooks/pre-commit; mv -T .git/hooks y; rm -rf .git'
    const directory = scene.host().makeDirectory('moved')
    repository(directory)
    const guest = await guestIn(directory)
    await guest.run(attack)
    expect(readdirSync(join(directory, '.git'))).toContain('hooks')
    expect(plantedIn(directory, ['.git/hooks/pre-commit'])).toEqual([])
    // Exchanging two names moves a directory without ever removing its name.
    const exchanged = await guest.run(['python3', '-c', exchange])
    // gVisor knows no exchange at all.
    expect(exchanged.stdout).toContain(isGvisor ? 'EINVAL' : 'EBUSY')
    await guest.kill()
    const control = scene.control()
    repository(control, scene.putControl)
    await undefended('mv .git x && mkdir -p .git/hooks && echo PLANTED > .git/hooks/pre-commit', { cwd: control })
    expect(plantedIn(control, ['.git/hooks/pre-commit'])).toHaveLength(1)
    expect((await undefended(['python3', '-c', exchange], { cwd: control })).stdout).toContain('OK')
  })
  const exchange = `import ctypes,os,errno
os.makedirs('other/hooks',exist_ok=True); libc=ctypes.CDLL(None,use_errno=True)
r=libc.renameat2(-100,b'.git',-100,b'other',2); print('OK' if r==0 else errno.errorcode[ctypes.get_errno()])`

  it('a worktree whose .git is a file cannot be aimed at another repository', async () => {
    const directory = scene.host().makeDirectory('worktree')
    scene.put(directory, '.git', 'gitdir: /elsewhere\n')
    const guest = await guestIn(directory)
    const attack = 'echo "gitdir: PLANTED" > .git; echo PLANTED > new; mv -f new .git; rm -f .git; mkdir .git'
    await guest.run(attack)
    expect(readFileSync(join(directory, '.git'), 'utf8')).toBe('gitdir: /elsewhere\n')
    await guest.kill()
    const control = scene.control()
    scene.putControl(control, '.git', 'gitdir: /elsewhere\n')
    await undefended('echo "gitdir: PLANTED" > .git', { cwd: control })
    expect(readFileSync(join(control, '.git'), 'utf8')).toContain('PLANTED')
  })

  it('hooks of a nested repository near the top cannot be planted', async () => {
    const names = ['vendored/.git/hooks/pre-commit', 'a/b/c/.git/config']
    const prepare = (directory: string, put: typeof scene.put): void => {
      for (const place of ['vendored', 'a/b/c']) repository(join(directory, place), put)
    }
    const directory = scene.host().makeDirectory('nested')
    prepare(directory, scene.put)
    const guest = await guestIn(directory)
    await guest.run(
      `${planting(names)}; mv vendored v2; mkdir -p vendored/.git/hooks; echo PLANTED > vendored/.git/hooks/pre-commit; mv a/b a/b2`,
    )
    expect(plantedIn(directory, names)).toEqual([])
    expect(existsSync(join(directory, 'a/b/c/.git/config'))).toBe(true)
    await guest.kill()
    const control = scene.control()
    prepare(control, scene.putControl)
    await undefended(planting(names), { cwd: control })
    expect(plantedIn(control, names)).toHaveLength(2)
  })

  it('a repository in a directory that the agent closed stays protected in the next sandbox', async () => {
    const modes = ['000', '600', '300']
    const names = modes.map((mode) => `closed${mode}/below/.git/hooks/pre-commit`)
    const prepare = (directory: string, put: typeof scene.put): void => {
      for (const mode of modes) repository(join(directory, `closed${mode}`, 'below'), put)
    }
    const close = modes.map((mode) => `chmod ${mode} closed${mode}`).join('\n')
    const plant = `chmod 755 closed*; ${planting(names)}`
    const directory = scene.host().makeDirectory('closed')
    prepare(directory, scene.put)
    const first = await guestIn(directory)
    expect((await first.run(close)).exitCode).toBe(0)
    await first.kill()
    const second = await guestIn(directory)
    await second.run(plant)
    await second.kill()
    expect(plantedIn(directory, names)).toEqual([])
    const control = scene.control()
    prepare(control, scene.putControl)
    await undefended(`${close}\n${plant}`, { cwd: control })
    expect(plantedIn(control, names)).toHaveLength(3)
  })

  // On gVisor a container takes some 200 mounts at most, and each of these brings many: there they are shown in two sandboxes.
  it('a second mount of the same directory does not open what the first protects', async () => {
    for (const shown of isGvisor ? [['.git'], ['sub']] : [['.git', 'sub']]) {
      const directory = scene.host().makeDirectory(`twice-${shown.join('')}`)
      repository(directory)
      mkdirSync(join(directory, 'sub'))
      scene.host().give(join(directory, 'sub'))
      const mounts = [
        { guestPath: '/workspace', hostPath: directory },
        { guestPath: '/again', hostPath: directory },
        ...shown.map((name) => ({ guestPath: `/${name.replace('.', '')}`, hostPath: join(directory, name) })),
      ]
      const guest = await scene.host().sandbox({ mounts })
      await guest.run(`echo PLANTED > /again/.git/hooks/pre-commit; echo PLANTED > /git/hooks/pre-commit; echo PLANTED > /git/config
        echo PLANTED > /again/.bashrc; echo PLANTED > /sub/.envrc; mv /git/hooks /git/x; mv /again/sub /again/s2`)
      const names = ['.git/hooks/pre-commit', '.git/config', '.bashrc', 'sub/.envrc']
      if (shown.includes('sub')) {
        await guest.run('echo PLANTED > /workspace/sub/.envrc; echo PLANTED > /again/sub/.envrc')
        expect(await guest.execute('write_text', { path: '/again/sub/.envrc', text: 'PLANTED' })).toEqual(refused)
      }
      const hooks = shown.includes('.git') ? '/git/hooks' : '/again/.git/hooks'
      expect(await guest.execute('write_text', { path: `${hooks}/pre-commit`, text: 'PLANTED' })).toEqual(refused)
      expect(plantedIn(directory, names)).toEqual([])
      const free = [
        '/again/y',
        ...(shown.includes('.git') ? ['/git/description'] : []),
        ...(shown.includes('sub') ? ['/sub/x'] : []),
      ]
      for (const path of free) expect((await guest.run(`echo fine > ${path}`)).exitCode, `control: ${path}`).toBe(0)
      await guest.kill()
      expect(plantedIn(directory, names)).toEqual([])
    }
  })

  it('two sandboxes on one workspace do not open each other’s placeholders', async () => {
    const directory = scene.host().makeDirectory('shared')
    const [one, two] = [await guestIn(directory), await guestIn(directory)]
    await one.kill()
    expect(existsSync(join(directory, '.bashrc')), 'held for the other').toBe(true)
    await two.run(planting(['.bashrc', '.git/config', '.vscode/tasks.json']))
    expect(plantedIn(directory, ['.bashrc', '.git/config', '.vscode/tasks.json'])).toEqual([])
    await two.kill()
    expect(readdirSync(directory).toSorted()).toEqual(expect.not.arrayContaining(['.bashrc', '.git', '.vscode']))
    const three = await guestIn(directory)
    expect((await three.run('echo PLANTED > plain; cat plain')).stdout, 'control').toBe('PLANTED\n')
    await three.kill()
  })

  it('a name that the host made while a sandbox lives is protected from the next exec on', async () => {
    const guest = await scene.host().sandbox()
    const path = join(guest.workspace, '.bashrc')
    renameSync(scene.put(guest.workspace, 'made-by-host', 'mine\n'), path)
    await guest.run('echo PLANTED >> .bashrc; rm -f .bashrc')
    expect(readFileSync(path, 'utf8')).toBe('mine\n')
    await guest.kill()
    expect(readFileSync(path, 'utf8')).toBe('mine\n')
    expect((await undefended('echo PLANTED >> .bashrc; cat .bashrc', { cwd: scene.control() })).stdout).toContain(
      'PLANTED',
    )
  })

  it('a hard link to a protected file can neither be made nor used', async () => {
    const directory = scene.host().makeDirectory('linked')
    repository(directory)
    const guest = await guestIn(directory)
    expect((await guest.run('ln .git/config alias; ln -L .git/config alias')).stderr).toMatch(
      /cross-device|not permitted/i,
    )
    expect(existsSync(join(directory, 'alias'))).toBe(false)
    // One that was there before shows the same bytes under a plain name: the file actions refuse it.
    linkSync(join(directory, '.git/config'), join(directory, 'before'))
    expect(await guest.execute('write_text', { path: 'before', text: 'PLANTED' })).toEqual(refused)
    expect(readFileSync(join(directory, '.git/config'), 'utf8')).toBe('[core]\n')
    await guest.kill()
    const control = scene.control()
    repository(control, scene.putControl)
    expect(
      (await undefended('ln .git/config alias && echo PLANTED > alias && cat .git/config', { cwd: control })).stdout,
    ).toBe('PLANTED\n')
  })

  it('a working directory outside the mounts is refused', async () => {
    const guest = await scene.host().sandbox()
    for (const cwd of ['/', '/etc', '/home', '../..', '/workspace/../etc', '/var/lib', '/root'])
      await expect(guest.run('touch here', { cwd }), cwd).rejects.toEqual(refusal('OUTSIDE_MOUNTS'))
    symlinkSync(scene.host().directory, join(guest.workspace, 'out'))
    const through = await guest.run('touch here', { cwd: '/workspace/out' }).catch((error: HostError) => error.code)
    expect(through).not.toMatchObject({ exitCode: 0 })
    expect(existsSync(join(scene.host().directory, 'here'))).toBe(false)
    await expect(
      scene
        .host()
        .sandbox({ cwd: '/etc' })
        .then((each) => each.run('pwd')),
    ).rejects.toEqual(refusal('OUTSIDE_MOUNTS'))
    const control = scene.control()
    expect((await undefended('touch here; ls', { cwd: control })).stdout).toBe('here\n')
  })

  it('a link in place of a protected name is refused', async () => {
    const directory = scene.host().makeDirectory('hooks-link')
    repository(directory)
    mkdirSync(join(directory, 'hooks-of-all'))
    renameSync(join(directory, '.git/hooks'), join(directory, '.git/old'))
    symlinkSync('../hooks-of-all', join(directory, '.git/hooks'))
    await expect(guestIn(directory)).rejects.toEqual(refusal('PROTECTED'))
    const control = scene.control()
    repository(control, scene.putControl)
    const attack =
      'mkdir all; mv .git/hooks .git/old; ln -s ../all .git/hooks; echo PLANTED > .git/hooks/pre-commit; cat all/pre-commit'
    expect((await undefended(attack, { cwd: control })).stdout).toBe('PLANTED\n')
  })

  it('no request, variable or action switches the sandbox off', async () => {
    const wide = { network: { mode: 'full' } } as const
    await expect(scene.host().sandbox({ policy: wide })).rejects.toEqual(refusal('POLICY_ESCALATION'))
    await expect(scene.host().sandbox({ policy: { unprotect: ['.git/hooks'] } as never })).rejects.toEqual(
      refusal('INVALID_INPUT'),
    )
    await expect(scene.host().sandbox({ policy: { sandbox: false } as never })).rejects.toEqual(
      refusal('INVALID_INPUT'),
    )
    await expect(scene.host().sandbox({ settings: { unprotect: ['glovebox.yaml'] } })).rejects.toMatchObject({
      code: expect.any(String),
    })
    const guest = await scene.host().sandbox()
    const input = { command: 'cat /etc/hostname', dangerouslyDisableSandbox: true, sandbox: false, backend: 'local' }
    expect(await guest.execute('run_shell', input)).toMatchObject({ ok: false, code: 'INVALID_INPUT' })
    const asked = await guest.run('readlink /proc/self/ns/pid', {
      env: { GLOVEBOX: '0', GLOVEBOX_BACKEND: 'local', GLOVEBOX_DISABLE: '1' },
    })
    expect(asked.stdout).not.toBe((await undefended('readlink /proc/1/ns/pid')).stdout)
    const control = await scene.host().sandbox({ ...whereNetworkOpens, settings: { ceilings: wide }, policy: wide })
    expect(control.description.networkMode, 'control').toBe('full')
    await guest.kill()
  })

  it('variables that one command exports do not reach the next', async () => {
    const guest = await scene.host().sandbox()
    await guest.run('export GIT_SSH_COMMAND=PLANTED LD_PRELOAD=/workspace/x.so; alias ls=x; env >/dev/null')
    expect((await guest.run('env')).stdout).not.toMatch(/PLANTED|LD_PRELOAD/)
    expect((await guest.run('export A=PLANTED; env')).stdout, 'control').toContain('PLANTED')
    await guest.kill()
  })

  it('git inside still works beside its protected files', async () => {
    const directory = scene.host().makeDirectory('usable')
    const guest = await guestIn(directory)
    await guest.run('true')
    await guest.kill()
    const open = await scene.host().sandbox({
      mounts: [{ guestPath: '/workspace', hostPath: directory }],
      settings: {
        unprotect: ['.git/hooks', '.git/config', '.git/config.worktree', '.git/commondir', '.git/worktrees'],
      },
    })
    expect((await open.run('git init -q .')).exitCode).toBe(0)
    await open.kill()
    const again = await guestIn(directory)
    const commit =
      'echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -qm one && git log --format=%s'
    expect(await again.run(commit)).toMatchObject({ stdout: 'one\n', exitCode: 0 })
    await again.kill()
  })
})
