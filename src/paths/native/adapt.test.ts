import { posix, win32 } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../../test/fixtures/cases.ts'
import { adaptRoot, type AskWslpath, type NativeRoot, type Roots } from './adapt.ts'
import type { Runtime } from './runtime.ts'

const w = String.raw

/** What the real one answers on a machine with the customary mounts. */
const wslpath: AskWslpath = (option, path) => {
  if (option === '-u') {
    const [, letter, rest] = /^([A-Za-z]):[\\/]?(.*)$/s.exec(path) ?? []
    return letter === undefined ? undefined : `/mnt/${letter.toLowerCase()}/${(rest ?? '').replaceAll('\\', '/')}\n`
  }
  const [, letter, rest] = /^\/mnt\/([a-z])\/(.*)$/s.exec(path) ?? []
  if (letter !== undefined) return `${letter.toUpperCase()}:\\${(rest ?? '').replaceAll('/', '\\')}\r\n`
  return `\\\\wsl.localhost\\Debian${path.replaceAll('/', '\\')}\r\n`
}

const rows: readonly (readonly [runtime: Runtime, roots: Roots, native: string, docker: string])[] = [
  ['windows', { workspace_root_win: w`D:\workspace` }, w`D:\workspace`, 'D:/workspace'],
  ['windows', { workspace_root_win: 'd:/workspace/' }, w`D:\workspace`, 'D:/workspace'],
  ['windows', { workspace_root_win: 'C:\\' }, 'C:\\', 'C:/'],
  [
    'windows',
    { workspace_root_win: w`C:\Program Files\Glove box` },
    w`C:\Program Files\Glove box`,
    'C:/Program Files/Glove box',
  ],
  ['windows', { workspace_root_win: w`C:\Büro\数据\😀` }, w`C:\Büro\数据\😀`, 'C:/Büro/数据/😀'],
  ['windows', { workspace_root_win: w`\\?\D:\deep` }, w`D:\deep`, 'D:/deep'],
  ['windows', { workspace_root_win: w`\\wsl$\Debian\srv` }, w`\\wsl$\Debian\srv`, '//wsl$/Debian/srv'],
  [
    'windows',
    { workspace_root_win: w`\\?\UNC\wsl.localhost\Debian\srv` },
    w`\\wsl.localhost\Debian\srv`,
    '//wsl.localhost/Debian/srv',
  ],
  ['windows', { workspace_root_wsl: '/mnt/d/work space' }, w`D:\work space`, 'D:/work space'],
  ['windows', { workspace_root_wsl: '/srv/ws' }, w`\\wsl.localhost\Debian\srv\ws`, '//wsl.localhost/Debian/srv/ws'],
  ['windows', { workspace_root_win: w`D:\a`, workspace_root_wsl: '/mnt/e/b' }, w`D:\a`, 'D:/a'],
  ['windows', { workspace_root: w`D:\c`, workspace_root_wsl: '/mnt/e/b' }, w`D:\c`, 'D:/c'],
  ['wsl', { workspace_root_wsl: '/mnt/d/workspace' }, '/mnt/d/workspace', '/mnt/d/workspace'],
  ['wsl', { workspace_root_wsl: '//srv///ws/' }, '/srv/ws', '/srv/ws'],
  ['wsl', { workspace_root_win: w`D:\work space\ü` }, '/mnt/d/work space/ü', '/mnt/d/work space/ü'],
  ['wsl', { workspace_root_win: w`D:\a`, workspace_root_wsl: '/home/me/ws' }, '/home/me/ws', '/home/me/ws'],
  ['linux', { workspace_root: '/srv/ws' }, '/srv/ws', '/srv/ws'],
  ['linux', { workspace_root: '/srv/a b:c,d"e\\f' }, '/srv/a b:c,d"e\\f', '/srv/a b:c,d"e\\f'],
  ['linux', { workspace_root: '/' }, '/', '/'],
  ['macos', { workspace_root: '/Users/me/Büro' }, '/Users/me/Büro', '/Users/me/Büro'],
]

const refusals: readonly (readonly [runtime: Runtime, roots: Roots, says: RegExp, hint: RegExp])[] = [
  ['windows', {}, /no root is set/, /workspace_root_win/],
  ['windows', { workspace_root_win: '/mnt/d/workspace' }, /a path of WSL/, /D:\\workspace/],
  ['windows', { workspace_root_win: 'workspace' }, /not absolute/, /workspace_root_win/],
  ['windows', { workspace_root_win: 'D:' }, /not absolute/, /workspace_root_win/],
  ['windows', { workspace_root_win: 'D:workspace' }, /not absolute/, /workspace_root_win/],
  ['windows', { workspace_root_win: w`\workspace` }, /not absolute/, /workspace_root_win/],
  ['windows', { workspace_root_win: w`\\server\share\ws` }, /network share/, /local drive/],
  ['windows', { workspace_root_win: w`\\server` }, /not absolute/, /workspace_root_win/],
  ['windows', { workspace_root_win: w`\\.\pipe\x` }, /is a device/, /workspace_root_win/],
  ['windows', { workspace_root_win: w`\\?\Volume{b75e2c83}\ws` }, /is a device/, /workspace_root_win/],
  ['windows', { workspace_root_win: w`\\?\D:\a/b` }, /reads otherwise/, /workspace_root_win/],
  ['windows', { workspace_root_win: w`D:\a\..\b` }, /reads otherwise/, /workspace_root_win/],
  ['windows', { workspace_root_win: w`D:\a.\b` }, /reads otherwise/, /workspace_root_win/],
  ['windows', { workspace_root_win: w`D:\NUL.txt` }, /reads otherwise/, /workspace_root_win/],
  ['windows', { workspace_root_win: w`D:\a:stream` }, /reads otherwise/, /workspace_root_win/],
  ['windows', { workspace_root_win: 'D:\\a\0b' }, /reads otherwise/, /workspace_root_win/],
  ['wsl', {}, /no root is set/, /workspace_root_wsl/],
  ['wsl', { workspace_root_wsl: w`D:\workspace` }, /Windows path/, /workspace_root_wsl/],
  ['wsl', { workspace_root_wsl: 'd:/workspace' }, /Windows path/, /workspace_root_wsl/],
  ['wsl', { workspace_root_wsl: w`\\wsl$\Debian\srv` }, /Windows path/, /workspace_root_wsl/],
  ['wsl', { workspace_root_wsl: 'ws' }, /not absolute/, /workspace_root_wsl/],
  ['wsl', { workspace_root_wsl: '/srv/../etc' }, /leads elsewhere/, /workspace_root_wsl/],
  ['linux', {}, /no root is set/, /workspace_root /],
  ['linux', { workspace_root_wsl: '/mnt/d/ws' }, /no root is set/, /workspace_root /],
  ['linux', { workspace_root: w`D:\workspace` }, /Windows path/, /workspace_root /],
  ['linux', { workspace_root: '/srv/a\0b' }, /leads elsewhere/, /workspace_root /],
  ['macos', { workspace_root: '' }, /no root is set/, /workspace_root /],
]

describe('adaptRoot', () => {
  it.each(rows)('on %s %j is %s, and %s for Docker', (runtime, roots, native, docker) => {
    expect(adaptRoot({ runtime, roots, wslpath })).toMatchObject({
      runtime,
      host_path_native: native,
      docker_mount_path: docker,
    })
  })

  it.each(refusals)('on %s %j is refused, and says what to set', (runtime, roots, says, hint) => {
    const attempt = (): NativeRoot => adaptRoot({ runtime, roots, wslpath })
    expect(attempt).toThrow(says)
    expect(attempt).toThrow(expect.objectContaining({ code: 'INVALID_SETTINGS', hint: expect.stringMatching(hint) }))
  })

  const silences: readonly (readonly [string, AskWslpath | undefined])[] = [
    ['no such program', undefined],
    ['it refused', () => undefined],
    ['it said nothing', () => '\n'],
  ]
  it.each(silences)('refuses a root of the other system that wslpath gives no name for (%s)', (_why, deaf) => {
    const wsl = { runtime: 'wsl', roots: { workspace_root_win: w`D:\ws` }, wslpath: deaf } as const
    expect(() => adaptRoot(wsl)).toThrow(expect.objectContaining({ hint: expect.stringMatching(/workspace_root_wsl/) }))
    const windows = { runtime: 'windows', roots: { workspace_root_wsl: '/mnt/d/ws' }, wslpath: deaf } as const
    expect(() => adaptRoot(windows)).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(/workspace_root_win/) }),
    )
  })

  it('refuses an answer of wslpath that is not of this system', () => {
    const roots = { workspace_root_win: w`D:\ws` }
    expect(() => adaptRoot({ runtime: 'wsl', roots, wslpath: () => w`D:\ws` })).toThrow(/Windows path/)
    const other = { workspace_root_wsl: '/mnt/d/ws' }
    expect(() => adaptRoot({ runtime: 'windows', roots: other, wslpath: () => '/mnt/d/ws' })).toThrow(/path of WSL/)
  })

  it('gives a long path the form that Windows needs, and Docker the plain one', () => {
    const names = Array.from({ length: 20 }, (_, index) => `directory-number-${index}`)
    const long = adaptRoot({ runtime: 'windows', roots: { workspace_root_win: w`D:\ws` } }).below(...names)
    expect(long.host_path_native).toBe(`\\\\?\\D:\\ws\\${names.join('\\')}`)
    expect(long.docker_mount_path).toBe(`D:/ws/${names.join('/')}`)
    const share = adaptRoot({ runtime: 'windows', roots: { workspace_root_win: w`\\wsl$\Debian` } }).below(...names)
    expect(share.host_path_native).toBe(`\\\\?\\UNC\\wsl$\\Debian\\${names.join('\\')}`)
  })
})

describe('names below the root', () => {
  const windows = adaptRoot({ runtime: 'windows', roots: { workspace_root_win: w`D:\ws` } })
  const linux = adaptRoot({ runtime: 'linux', roots: { workspace_root: '/ws' } })

  it.each(['', '.', '..', 'a/b', 'a\0b', 'x'.repeat(256)])('%j is refused on every system', (name) => {
    for (const root of [windows, linux])
      expect(() => root.below('projects', name)).toThrow(expect.objectContaining({ code: 'INVALID_PATH' }))
  })

  it.each(['con', 'AUX', 'nul.txt', 'COM1', 'lpt9.x', 'a.', 'a ', w`a\b`, 'a:b', 'a*', 'conin$'])(
    '%j is refused where Windows would read it otherwise',
    (name) => {
      expect(() => windows.below(name)).toThrow(expect.objectContaining({ code: 'INVALID_PATH' }))
      expect(linux.below(name).host_path_native).toBe(`/ws/${name}`)
    },
  )

  const id = fc
    .stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,40}$/)
    .filter((name) => !/^(?:con|prn|aux|nul|com\d|lpt\d)$/i.test(name))

  it('are joined as the system itself joins them, and stay below', () => {
    fc.assert(
      fc.property(fc.array(id, { maxLength: 4 }), (names) => {
        expect(windows.below(...names).host_path_native).toBe(win32.join(w`D:\ws`, ...names))
        expect(windows.below(...names).docker_mount_path).toBe(posix.join('D:/ws', ...names))
        expect(linux.below(...names).docker_mount_path).toBe(posix.join('/ws', ...names))
      }),
    )
  })
})

function attempt(adapt: () => NativeRoot): { readonly adapted: NativeRoot } | { readonly error: unknown } {
  try {
    return { adapted: adapt() }
  } catch (error) {
    return { error }
  }
}

describe('no system is ever given the name of another', () => {
  const anyRoot = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc
      .tuple(
        fc.constantFrom('C:\\', 'd:/', '/mnt/d/', '/', w`\\wsl$\D` + '\\', '\\\\?\\C:\\'),
        fc.string({ maxLength: 30 }),
      )
      .map(([head, tail]) => head + tail),
  )
  const roots = fc.record(
    { workspace_root: anyRoot, workspace_root_win: anyRoot, workspace_root_wsl: anyRoot },
    { requiredKeys: [] },
  )
  const runtimes = fc.constantFrom<Runtime[]>('windows', 'wsl', 'linux', 'macos')

  it('whatever is set, and whatever wslpath answers', () => {
    fc.assert(
      fc.property(runtimes, roots, fc.option(anyRoot, { nil: undefined }), (runtime, given, answer) => {
        const outcome = attempt(() => adaptRoot({ runtime, roots: given, wslpath: () => answer }))
        if ('error' in outcome) expect(outcome.error).toMatchObject({ name: 'GloveboxError', code: 'INVALID_SETTINGS' })
        fc.pre('adapted' in outcome)
        const { host_path_native: native, docker_mount_path: docker } = outcome.adapted
        if (runtime === 'windows') {
          expect(native).toMatch(/^(?:\\\\\?\\)?(?:[A-Z]:\\|\\\\|UNC\\)/)
          expect(docker).toMatch(/^(?:[A-Z]:\/|\/\/wsl)/i)
          expect(docker).not.toMatch(/\\|^\/mnt\//)
        } else {
          for (const path of [native, docker]) expect(path).toMatch(/^\/(?!\/)/)
          expect(native).toBe(docker)
        }
        const names = native.split(/[\\/]/)
        expect(names).not.toContain('..')
      }),
      cases(500),
    )
  })

  it('adapting what was adapted changes nothing', () => {
    fc.assert(
      fc.property(runtimes, roots, (runtime, given) => {
        const adapt = (workspace_root: string): NativeRoot => adaptRoot({ runtime, roots: { workspace_root } })
        const once = attempt(() => adaptRoot({ runtime, roots: given }))
        fc.pre('adapted' in once)
        const { host_path_native } = once.adapted
        expect(adapt(host_path_native).host_path_native).toBe(host_path_native)
      }),
      cases(200),
    )
  })
})
