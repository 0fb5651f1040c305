import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GuestPath } from '../../contract/mount.ts'
import { createRewriter } from './rewrite.ts'

const host = '/srv/threads/t1'
const rewriter = createRewriter([
  { guest: '/mnt/user-data', hosts: [`${host}/data`], reachable: true },
  { guest: '/mnt/user-data/uploads', hosts: ['/var/uploads/t1'], reachable: true },
  { guest: '/mnt/skills', hosts: ['/opt/skills', '/private/opt/skills'], reachable: true },
  { guest: '/vault', hosts: ['/srv/secret'], reachable: false },
])

describe('virtual paths in commands', () => {
  it.each([
    ['/mnt/skills', '/opt/skills'],
    ['/mnt/skills/', '/opt/skills/'],
    ['/mnt/skills/a.md', '/opt/skills/a.md'],
    ['--out=/mnt/skills/a', '--out=/opt/skills/a'],
    ['-I/mnt/skills/include', '-I/opt/skills/include'],
    ['-isystem/mnt/skills', '-isystem/opt/skills'],
    ['a:/mnt/skills:/mnt/user-data/x', `a:/opt/skills:${host}/data/x`],
    ['@/mnt/skills/body.json', '@/opt/skills/body.json'],
    ['file:///mnt/skills/a', 'file:///opt/skills/a'],
    ['{/mnt/skills,/mnt/user-data}', `{/opt/skills,${host}/data}`],
    ['cd /mnt/skills; ls', 'cd /opt/skills; ls'],
    ['cat</mnt/skills/a>/mnt/user-data/b', `cat</opt/skills/a>${host}/data/b`],
    ['x=$(/mnt/skills/run)', 'x=$(/opt/skills/run)'],
    ['`/mnt/skills/run`', '`/opt/skills/run`'],
    ['open(f"/mnt/skills/{x}")', 'open(f"/opt/skills/{x}")'],
    ['printf "a\\n/mnt/skills"', 'printf "a\\n/opt/skills"'],
    ['See /mnt/skills.', 'See /opt/skills.'],
    ['/mnt/skills*', '/opt/skills*'],
    ['//mnt/skills', '//opt/skills'],
  ])('%s becomes %s', (given, wanted) => {
    expect(rewriter.toHost(given)).toBe(wanted)
  })

  it.each([
    '/mnt/skills-extra',
    '/mnt/skills_old/a',
    '/mnt/skills.bak',
    '/mnt/skills2',
    '/mnt/skillsé',
    '/x/mnt/skills',
    'x/mnt/skills',
    './mnt/skills',
    '../mnt/skills',
    '~/mnt/skills',
    '$HOME/mnt/skills',
    '${ROOT}/mnt/skills',
    '$(pwd)/mnt/skills',
    '`pwd`/mnt/skills',
    '"$ROOT"/mnt/skills',
    '$ROOT"/mnt/skills"',
    '*/mnt/skills',
    'https://host/mnt/skills',
    'http://mnt/skills',
    '/x//mnt/skills',
    '/mnt',
    'mnt/skills',
    '',
  ])('%s names something else and is left alone', (text) => {
    expect(rewriter.toHost(text)).toBe(text)
  })

  it('the longest virtual path wins', () => {
    expect(rewriter.toHost('/mnt/user-data/uploads/a /mnt/user-data/uploads2')).toBe(
      `/var/uploads/t1/a ${host}/data/uploads2`,
    )
  })

  it('what was put in is not rewritten again', () => {
    const swap = createRewriter([
      { guest: '/a', hosts: ['/b'], reachable: true },
      { guest: '/b', hosts: ['/a'], reachable: true },
    ])
    expect(swap.toHost('/a /b')).toBe('/b /a')
  })

  it('a vault leads a command nowhere and is still hidden in output', () => {
    expect(rewriter.toHost('/vault/key')).toBe('/vault/key')
    expect(rewriter.toGuest('/srv/secret/key')).toBe('/vault/key')
  })

  it('every argument and every value of the environment is rewritten, names are not', () => {
    expect(rewriter.argv(['/mnt/skills/run', '-c', '/mnt/skills'])).toEqual(['/opt/skills/run', '-c', '/opt/skills'])
    expect(rewriter.environment({ HOME: '/mnt/user-data', PATH: '/bin:/mnt/skills/bin' })).toEqual({
      HOME: `${host}/data`,
      PATH: '/bin:/opt/skills/bin',
    })
  })

  it('a directory is found by the longest virtual path; outside all of them it is the host’s own', () => {
    expect(rewriter.directory('/mnt/user-data/uploads/x' as GuestPath)).toBe('/var/uploads/t1/x')
    expect(rewriter.directory('/mnt/user-data2' as GuestPath)).toBe('/mnt/user-data2')
    expect(rewriter.directory('/usr/bin' as GuestPath)).toBe('/usr/bin')
  })
})

describe('host paths in output', () => {
  it.each([
    ['/opt/skills/a: not found', '/mnt/skills/a: not found'],
    ['/private/opt/skills/a', '/mnt/skills/a'],
    ["cannot open '/opt/skills'", "cannot open '/mnt/skills'"],
    ['cannot open ‘/opt/skills’', 'cannot open ‘/mnt/skills’'],
    ['├──/opt/skills', '├──/mnt/skills'],
    ['\u001b[35m/opt/skills/a\u001b[0m', '\u001b[35m/mnt/skills/a\u001b[0m'],
    ['{"log":"\\u001b[32m/opt/skills\\n/opt/skills"}', '{"log":"\\u001b[32m/mnt/skills\\n/mnt/skills"}'],
    ['gcc -I/opt/skills/include', 'gcc -I/mnt/skills/include'],
    ['Cloning into /opt/skills...', 'Cloning into /mnt/skills...'],
    ['[x]/opt/skills', '[x]/mnt/skills'],
    ['diff --git a/opt/skills/a b/opt/skills/b', 'diff --git a/mnt/skills/a b/mnt/skills/b'],
    [`${host}/data/x`, '/mnt/user-data/x'],
  ])('%s becomes %s', (given, wanted) => {
    expect(rewriter.toGuest(given)).toBe(wanted)
  })

  it.each(['/opt/skills-extra', '/opt/skills.bak', '/x/opt/skills', 'ax/opt/skills', '/opt', '/opt/skillsé', '/srv'])(
    '%s names something else and is left alone',
    (text) => {
      expect(rewriter.toGuest(text)).toBe(text)
    },
  )

  it('a root of one name is not looked for inside a relative path', () => {
    const shallow = createRewriter([{ guest: '/workspace', hosts: ['/app'], reachable: true }])
    expect(shallow.toGuest('a/app/main.ts src/app/x /app/x')).toBe('a/app/main.ts src/app/x /workspace/x')
  })

  it('the host’s root directory is never looked for', () => {
    const whole = createRewriter([{ guest: '/host', hosts: ['/'], reachable: true }])
    expect(whole.toGuest('/etc/passwd /')).toBe('/etc/passwd /')
  })
})

describe('both ways', () => {
  const name = fc.stringMatching(/^[A-Za-z0-9_]{1,12}$/)
  const root = fc.array(name, { minLength: 2, maxLength: 5 }).map((names) => `/${names.join('/')}`)
  const tail = fc.array(name, { maxLength: 4 }).map((names) => names.map((each) => `/${each}`).join(''))
  const gap = fc.constantFrom(' ', '\n', '=', ':', ',', ';', '(', '"', ' "', '<', '|', ' -I', '\t')

  it('a virtual path that went in comes out as the same virtual path', () => {
    fc.assert(
      fc.property(root, root, fc.array(fc.tuple(gap, tail), { minLength: 1, maxLength: 8 }), (guest, from, parts) => {
        fc.pre(!guest.startsWith(from) && !from.startsWith(guest))
        const pair = createRewriter([{ guest, hosts: [from], reachable: true }])
        const text = parts.map(([before, rest]) => ` ${before}${guest}${rest}`).join('')
        const inside = pair.toHost(text)
        expect(inside.includes(from)).toBe(true)
        expect(pair.toGuest(inside)).toBe(text)
      }),
    )
  })
})
