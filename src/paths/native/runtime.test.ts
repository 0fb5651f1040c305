import { describe, expect, it } from 'vitest'
import { detectRuntime, type HostFacts, type Runtime, type RuntimeName } from './runtime.ts'

const hosts = {
  windows: { platform: 'win32', release: '10.0.22631', interop: false },
  wsl2: { platform: 'linux', release: '5.15.167.4-microsoft-standard-WSL2', interop: true },
  wsl1: { platform: 'linux', release: '4.4.0-19041-Microsoft', interop: true },
  containerOnWsl: { platform: 'linux', release: '5.15.167.4-microsoft-standard-WSL2', interop: false },
  linux: { platform: 'linux', release: '6.1.0-18-amd64', interop: false },
  linuxWithWine: { platform: 'linux', release: '6.1.0-18-amd64', interop: true },
  mac: { platform: 'darwin', release: '24.1.0', interop: false },
} satisfies Record<string, HostFacts>

const detections: readonly (readonly [keyof typeof hosts, Runtime])[] = [
  ['windows', 'windows'],
  ['wsl2', 'wsl'],
  ['wsl1', 'wsl'],
  ['containerOnWsl', 'linux'],
  ['linux', 'linux'],
  ['linuxWithWine', 'linux'],
  ['mac', 'macos'],
]

describe('detectRuntime', () => {
  it.each(detections)('finds out %s as %s', (host, runtime) => {
    expect(detectRuntime('auto', hosts[host])).toBe(runtime)
  })

  const contradictions: readonly (readonly [RuntimeName, keyof typeof hosts])[] = [
    ['windows', 'linux'],
    ['windows', 'wsl2'],
    ['wsl', 'windows'],
    ['wsl', 'mac'],
    ['linux', 'mac'],
    ['macos', 'linux'],
  ]
  it.each(contradictions)('refuses %s on a host that cannot be one (%s)', (asked, host) => {
    expect(() => detectRuntime(asked, hosts[host])).toThrow(expect.objectContaining({ code: 'INVALID_SETTINGS' }))
  })

  it('believes an operator who names what the host can be', () => {
    expect(detectRuntime('linux', hosts.wsl2)).toBe('linux')
    expect(detectRuntime('wsl', hosts.containerOnWsl)).toBe('wsl')
  })

  it('refuses a platform that it does not know', () => {
    expect(() => detectRuntime('auto', { platform: 'sunos', release: '5', interop: false })).toThrow(/sunos/)
  })
})
