import { describe, expect, it } from 'vitest'
import { guard, type GuardRules } from './guard.ts'
import { hostsOf } from './serve.ts'

const rules: GuardRules = {
  hosts: new Set(['localhost:80']),
  origins: new Set(['https://console.example']),
  limits: { urlBytes: 100 },
}
const asked = (rawHeaders: readonly string[], url = '/') => ({ method: 'GET', url, rawHeaders })
const codeOf = (rawHeaders: readonly string[], url = '/'): unknown => {
  try {
    guard(asked(rawHeaders, url), rules)
    return 'passed'
  } catch (error) {
    return (error as { code: unknown }).code
  }
}

describe('guard', () => {
  it('without a Host, or with a foreign one, nothing passes', () => {
    expect(codeOf([])).toBe('INVALID_INPUT')
    expect(codeOf(['Host', ''])).toBe('HOST_NOT_ALLOWED')
    expect(codeOf(['Host', 'evil:80'])).toBe('HOST_NOT_ALLOWED')
    expect(codeOf(['hOsT', 'LocalHost:80'])).toBe('passed')
  })

  it('a header that decides something must not come twice', () => {
    expect(codeOf(['Host', 'localhost:80', 'host', 'localhost:80'])).toBe('INVALID_INPUT')
    expect(codeOf(['Host', 'localhost:80', 'X-A', '1', 'x-a', '2'])).toBe('passed')
  })

  it('only our own pages and those that were named may ask', () => {
    const from = (origin: string): unknown => codeOf(['Host', 'localhost:80', 'Origin', origin])
    expect(from('http://localhost:80')).toBe('passed')
    expect(from('https://console.example')).toBe('passed')
    for (const origin of ['null', '', 'https://localhost:80', 'http://localhost', 'https://console.example:1'])
      expect([origin, from(origin)]).toEqual([origin, 'ORIGIN_NOT_ALLOWED'])
  })

  it('an address has a limit', () => {
    expect(codeOf(['Host', 'localhost:80'], `/${'a'.repeat(100)}`)).toBe('URI_TOO_LONG')
  })
})

describe('hostsOf', () => {
  it('a server answers for loopback, for its address, and for what the operator adds', () => {
    const hosts = hostsOf({ host: '10.0.0.1', port: 0 }, 4177, ['Box.example', 'box.example:8443'])
    expect(hosts).toEqual([
      'localhost:4177',
      '127.0.0.1:4177',
      '[::1]:4177',
      '10.0.0.1:4177',
      'box.example:4177',
      'box.example:8443',
    ])
  })

  it('on port 80 a Host needs no port', () => {
    expect(hostsOf({ host: '127.0.0.1', port: 80 }, 80, [])).toContain('localhost')
    expect(hostsOf({ socket: '/run/x.sock' }, undefined, [])).toContain('localhost')
  })
})
