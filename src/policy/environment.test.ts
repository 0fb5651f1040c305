import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GuestPath } from '../contract/mount.ts'
import { checkEnvironment, guestEnvironment, type EnvironmentInput } from './environment.ts'

const environment = (input: Partial<EnvironmentInput>): Record<string, string> =>
  guestEnvironment({ operatorEnv: {}, allow: [], home: '/home/agent' as GuestPath, path: ['/usr', '/bin'], ...input })

const own = {
  HOME: '/home/agent',
  TMPDIR: '/home/agent/tmp',
  XDG_CACHE_HOME: '/home/agent/.cache',
  GLOVEBOX: '1',
  GLOVEBOX_HOME_DIR: '/home/agent',
  GLOVEBOX_CACHE_DIR: '/home/agent/.cache',
}

describe('the guest’s environment', () => {
  it('holds the allow-list, the agent’s own places, and nothing else', () => {
    const operatorEnv = {
      PATH: '/usr/bin',
      LANG: 'C.UTF-8',
      TERM: 'xterm',
      COLORTERM: 'truecolor',
      LC_ALL: 'C',
      LC_CTYPE: 'C',
      SHELL: '/bin/bash',
      USER: 'ann',
      LOGNAME: 'ann',
      HOME: '/home/ann',
      TMPDIR: '/var/tmp',
      AWS_SECRET_ACCESS_KEY: 'secret',
      LD_PRELOAD: '/x.so',
      SSH_AUTH_SOCK: '/run/agent',
      lang: 'x',
    }
    const {
      HOME: _home,
      TMPDIR: _tmp,
      AWS_SECRET_ACCESS_KEY: _key,
      LD_PRELOAD: _ld,
      SSH_AUTH_SOCK: _ssh,
      lang: _lang,
      ...passed
    } = operatorEnv
    expect({ ...environment({ operatorEnv }) }).toEqual({ ...passed, ...own })
  })

  it('no name outside the lists passes, whatever the operator’s environment holds', () => {
    const known = new Set([
      'PATH',
      'LANG',
      'TERM',
      'COLORTERM',
      'LC_ALL',
      'LC_CTYPE',
      'SHELL',
      'USER',
      'LOGNAME',
      'ALLOWED',
      ...Object.keys(own),
    ])
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string()), (operatorEnv) => {
        for (const name of Object.keys(environment({ operatorEnv, allow: ['ALLOWED'] }))) expect(known).toContain(name)
      }),
      { numRuns: 200 },
    )
  })

  it('policy lets a name through, but never over the agent’s own places', () => {
    const env = environment({
      operatorEnv: { TOKEN: 't', HOME: '/home/ann', ABSENT: undefined },
      allow: ['TOKEN', 'HOME', 'ABSENT'],
    })
    expect({ ...env }).toMatchObject({ TOKEN: 't', HOME: '/home/agent' })
    expect(env).not.toHaveProperty('ABSENT')
  })

  it('values given by name are the last word', () => {
    const env = environment({ operatorEnv: { LANG: 'C' }, extra: { LANG: 'de', HOME: '/elsewhere', lang: 'both' } })
    expect({ ...env }).toMatchObject({ LANG: 'de', HOME: '/elsewhere', lang: 'both' })
  })

  it('PATH shows no host-only directory and none relative to the cwd', () => {
    const PATH = '/home/ann/bin:/usr/local/bin::.:bin:/usr/../home/ann:/usrlocal:/usr/bin:/usr/bin:/bin'
    expect(environment({ operatorEnv: { PATH } })['PATH']).toBe('/usr/local/bin:/usr/bin:/bin')
    expect(environment({ operatorEnv: { PATH }, path: (directory) => directory === '/bin' })['PATH']).toBe('/bin')
    expect(environment({ operatorEnv: { PATH: '/home/ann' }, allow: ['PATH'], path: ['/bin'] })['PATH']).toBe('/bin')
  })

  it('without a usable PATH the system’s visible directories stand in, and without those there is none', () => {
    expect(environment({})['PATH']).toBe('/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/bin')
    for (const path of [[], ['']])
      expect(environment({ operatorEnv: { PATH: '/usr/bin' }, path })).not.toHaveProperty('PATH')
  })

  it('a shell that only the host has is not shown', () => {
    expect(environment({ operatorEnv: { SHELL: '/home/ann/zsh' }, allow: ['SHELL'] })).not.toHaveProperty('SHELL')
    expect(environment({ operatorEnv: { SHELL: 'zsh' } })).not.toHaveProperty('SHELL')
  })

  it('a variable named __proto__ is a variable and touches no prototype', () => {
    const extra = JSON.parse('{"__proto__":"p","constructor":"c"}') as Record<string, string>
    const env = environment({ extra })
    expect(Object.getPrototypeOf(env)).toBeNull()
    expect(Object.entries(env)).toEqual(
      expect.arrayContaining([
        ['__proto__', 'p'],
        ['constructor', 'c'],
      ]),
    )
    expect(environment({ allow: ['constructor', 'toString'] })).not.toHaveProperty('constructor')
  })
})

describe('a variable that cannot be passed', () => {
  const refused = expect.objectContaining({ code: 'INVALID_ENV' }) as Error

  it.each(['', '1A', 'A=B', 'A B', 'A-B', 'é', 'A\0', 'A\n', 'A'.repeat(129)])('a name of %j is refused', (name) => {
    expect(() => checkEnvironment({ [name]: 'x' })).toThrow(refused)
    expect(() => environment({ extra: { [name]: 'x' } })).toThrow(refused)
  })

  it.each([
    ['a NUL', 'a\0b'],
    ['half a character', '\ud800'],
    ['a number', 5],
    ['nothing', undefined],
    ['128 KiB', 'x'.repeat(131_072)],
  ])('a value with %s is refused', (_, value) => {
    expect(() => checkEnvironment({ A: value })).toThrow(refused)
  })

  it('the size is counted in bytes, of each and of all together', () => {
    checkEnvironment({ A: 'x'.repeat(131_069) })
    expect(() => checkEnvironment({ A: 'é'.repeat(65_536) })).toThrow(refused)
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`A${index}`, 'x'.repeat(120_000)]))
    expect(() => checkEnvironment(many)).toThrow(refused)
  })

  it('dangerous names are the guest’s own affair and pass', () => {
    checkEnvironment({ LD_PRELOAD: 'x', BASH_ENV: 'x', NODE_OPTIONS: 'x', _: '', a: '1', A: '2' })
  })

  it('the refusal never shows the value', () => {
    expect(() => checkEnvironment({ TOKEN: 'hunter2\0' })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2'), facts: { name: 'TOKEN' } }),
    )
  })
})
