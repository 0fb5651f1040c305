// The guest of a fork tries to change what lies under it, or to play with the signs by which overlayfs knows what is hidden.
// Layers are laid for root alone.
import { chmodSync, existsSync, lstatSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { describeWhere, isRoot } from './describe-where.ts'
import { undefended, type Guest } from './host.ts'
import { attackScene } from './scene.ts'

const refusal = (code: string): unknown => expect.objectContaining({ code })
const script = `
import ctypes, mmap, os
def attempt(what):
    try: what()
    except OSError as error: print(error.errno)
def reopened():
    held = os.open('through', os.O_RDONLY)
    os.write(os.open('/proc/self/fd/%d' % held, os.O_WRONLY), b'PLANTED')
def mapped():
    with open('mapped', 'r+b') as file: mmap.mmap(file.fileno(), 0)[0:7] = b'PLANTED'
attempt(lambda: open('plain', 'a').write('PLANTED'))
attempt(reopened)
attempt(mapped)
attempt(lambda: os.truncate('cut', 0))
attempt(lambda: os.chmod('rights', 0o777))
attempt(lambda: os.utime('times', (1, 1)))
attempt(lambda: (os.link('linked', 'second'), open('second', 'a').write('PLANTED')))
attempt(lambda: os.setxattr('marked', 'user.x', b'PLANTED'))
attempt(lambda: os.rename('d/f', 'd/g'))
attempt(lambda: os.remove('d/h'))
attempt(lambda: os.mkdir('d/new'))
print('done')
`
const files = ['plain', 'through', 'mapped', 'cut', 'rights', 'times', 'linked', 'marked', 'd/f', 'd/h']

describeWhere(isRoot, 'layers are laid for root alone')('layers of a mount', () => {
  const scene = attackScene('root')
  let made = 0
  let guest: Guest
  let lower: string
  let upper: string
  let work: string

  const layered = async (mounts: readonly { guestPath: string; hostPath: string }[] = []): Promise<Guest> => {
    const run = scene.host().makeDirectory(`run-${++made}`)
    ;[upper, work] = ['workspace', 'work'].map((name) => scene.host().makeDirectory(`run-${made}/${name}`)) as [
      string,
      string,
    ]
    return scene.host().sandbox({
      mounts: [
        { guestPath: '/workspace', hostPath: join(run, 'workspace'), over: { lower: [lower], work } },
        ...mounts,
      ],
    })
  }
  beforeAll(async () => {
    lower = scene.host().makeDirectory('lower')
    for (const name of files) scene.put(lower, name, `${name} of the layer`)
    guest = await layered()
  })
  const seal = (): readonly unknown[] =>
    ['.', 'd', ...files].map((name) => {
      const { mode, mtimeMs, ctimeMs, ino } = lstatSync(join(lower, name))
      return [
        name,
        mode,
        mtimeMs,
        ctimeMs,
        ino,
        files.includes(name) ? readFileSync(join(lower, name), 'utf8') : readdirSync(join(lower, name)),
      ]
    })

  it('a lower layer cannot be written from inside', async () => {
    const before = seal()
    const tried = await guest.run(['python3', '-c', script])
    expect(tried.stdout, tried.stderr).toMatch(/done\n$/)
    expect(seal()).toEqual(before)
    expect((await guest.run('cat plain through mapped; ls d')).stdout, 'control: inside it is changed').toMatch(
      /PLANTED[\s\S]*PLANTED[\s\S]*PLANTED/,
    )
    const actions = [
      await guest.execute('write_text', { path: '/workspace/linked', text: 'PLANTED' }),
      await guest.execute('append_text', { path: '/workspace/marked', text: 'PLANTED' }),
      await guest.execute('rename_entry', { from: '/workspace/d', to: '/workspace/e' }),
    ]
    expect(
      actions.every(({ ok }) => ok),
      'control',
    ).toBe(true)
    expect(seal()).toEqual(before)
    const ground = scene.control()
    for (const name of files) scene.putControl(ground, name, `${name} of the layer`)
    const control = await undefended(['python3', '-c', script], { cwd: ground })
    expect(control.stdout, control.stderr).toMatch(/done\n$/)
    expect(readFileSync(join(ground, 'plain'), 'utf8'), 'control').toContain('PLANTED')
    expect(existsSync(join(ground, 'd/f')), 'control').toBe(false)
  })

  it('a layer and the work directory cannot be reached by themselves', async () => {
    const look = `ls -A /sys/kernel /sys ${lower} ${upper} ${work} /proc/1/root/sys/kernel 2>/dev/null; grep -c . /proc/self/mountinfo; cat /proc/self/mountinfo`
    const { stdout } = await guest.run(look)
    expect(stdout).not.toContain(lower)
    expect(stdout).not.toContain('of the layer')
    expect(stdout).toMatch(/^\d+\n/)
    expect((await guest.run(`find / -xdev -name work -path '*run-*' 2>/dev/null | wc -l`)).stdout).toBe('0\n')
    expect((await undefended(`ls -d ${lower} && ls ${lower}/plain`)).stdout, 'control').toContain('plain')
  })

  it('the signs of overlayfs cannot be made from inside', async () => {
    const live = await layered()
    const attempts = `
import os
def attempt(name, what):
    try: what(); print(name, 'done')
    except OSError as error: print(name, os.strerror(error.errno))
attempt('opaque', lambda: os.setxattr('d', 'trusted.overlay.opaque', b'y'))
attempt('redirect', lambda: os.setxattr('d', 'trusted.overlay.redirect', b'/../..'))
attempt('whiteout', lambda: os.mknod('plain2', 0o020000, 0))
attempt('user', lambda: os.setxattr('d', 'user.overlay.opaque', b'y'))
print(sorted(os.listdir('d')))
`
    const { stdout } = await live.run(['python3', '-c', attempts])
    const lines = stdout.trim().split('\n')
    expect(lines.slice(0, 3)).toEqual([
      'opaque Operation not permitted',
      'redirect Operation not permitted',
      expect.stringMatching(/^whiteout (?:Operation not permitted|Function not implemented)$/),
    ])
    await live.kill()
    // The attribute that a less privileged overlay would believe means nothing to the next look.
    expect(lines.at(-1)).toBe("['f', 'h']")
    const ground = scene.control()
    const control = await undefended(['python3', '-c', "import os; os.mknod('w', 0o020000, 0); print('made')"], {
      cwd: ground,
    })
    expect(control.stdout, 'control').toBe('made\n')
  })

  it('a setuid file in a lower layer gives nothing', async () => {
    const file = scene.put(lower, 'as-owner', '')
    writeFileSync(file, readFileSync('/usr/bin/id'))
    chmodSync(file, 0o6755)
    const live = await layered()
    expect((await live.run('./as-owner -u; ./as-owner -ru')).stdout).toBe('1000\n1000\n')
    expect((await live.run('mount')).stdout).toMatch(/ on \/workspace type overlay \([^)]*nosuid[^)]*nodev/)
    await live.run('echo PLANTED > as-owner')
    expect(statSync(join(upper, 'as-owner')).mode & 0o6000).toBe(0)
    expect(statSync(file).mode & 0o6000, 'control: below it is as it was').toBe(0o6000)
    await live.kill()
  })

  it('a second mount that shows a layer is refused', async () => {
    for (const hostPath of [lower, join(lower, 'd'), scene.host().directory]) {
      await expect(layered([{ guestPath: '/data', hostPath }]), hostPath).rejects.toEqual(refusal('INVALID_INPUT'))
    }
    const control = await layered([{ guestPath: '/data', hostPath: scene.host().makeDirectory(`apart-${made}`) }])
    expect((await control.run('ls /data')).exitCode, 'control').toBe(0)
    await control.kill()
  })
})
