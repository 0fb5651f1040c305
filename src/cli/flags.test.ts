import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { isGloveboxError } from '../errors/error.ts'
import { addSandboxFlags, collectEnvironment, flagLayers, type SandboxFlags } from './flags.ts'
import { joinMounts } from './request.ts'

function parse(...argv: string[]): SandboxFlags {
  const command = addSandboxFlags(new Command().exitOverride(), '/project')
    .argument('[command...]')
    .passThroughOptions()
  return command.parse(argv, { from: 'user' }).opts<SandboxFlags>()
}

const refusal = (act: () => unknown): string => {
  try {
    act()
  } catch (error) {
    if (isGloveboxError(error)) return `${error.message} ${error.hint}`
    throw error
  }
  throw new Error('it was accepted')
}

describe('sandbox flags', () => {
  it('become one layer of settings each, named by the flag', () => {
    const flags = parse(
      '--net',
      'full',
      '--timeout',
      '2m',
      '--memory',
      '1g',
      '--cpus',
      '0.5',
      '--pids',
      '64',
      '--max-stdout',
      '64k',
    )
    expect(flagLayers(flags)).toEqual([
      { layer: 'settings', source: '--net', values: { network: { mode: 'full' } } },
      { layer: 'settings', source: '--timeout', values: { timeoutMs: 120_000 } },
      { layer: 'settings', source: '--memory', values: { memoryMb: 1024 } },
      { layer: 'settings', source: '--cpus', values: { cpuCores: 0.5 } },
      { layer: 'settings', source: '--pids', values: { pids: 64 } },
      { layer: 'settings', source: '--max-stdout', values: { maxStdoutBytes: 65_536 } },
    ])
  })

  it('make no layer when they are not given', () => {
    expect(flagLayers(parse())).toEqual([])
  })

  it('collect mounts and variables in their order', () => {
    const flags = parse('--mount', '/a=./a', '--mount', '/b=/b:ro', '--env', 'A=1', '--env', 'B=x=y', '--env', 'C=')
    expect(flags.mount).toEqual([
      { guestPath: '/a', hostPath: '/project/a' },
      { guestPath: '/b', hostPath: '/b', mode: 'ro' },
    ])
    expect(flags.env).toEqual({ A: '1', B: 'x=y', C: '' })
  })

  it('end where the command begins', () => {
    const flags = parse('--json', 'ls', '--timeout', 'never')
    expect(flags.json).toBe(true)
    expect(flags.timeout).toBeUndefined()
  })

  it('refuse an unknown network mode with the one that was meant', () => {
    expect(refusal(() => parse('--net', 'ful'))).toContain('Did you mean "full"?')
    expect(refusal(() => parse('--net', ''))).toContain('not a network mode')
  })

  it('refuse a variable without a value, and never set a prototype', () => {
    expect(refusal(() => parse('--env', 'HOME'))).toContain('NAME=value')
    expect(refusal(() => parse('--env', '=x'))).toContain('NAME=value')
    const env = collectEnvironment('__proto__=x', {})
    expect(Object.keys(env)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(env)).toBe(Object.prototype)
  })
})

describe('mounts of settings and flags', () => {
  it('join, and a flag replaces the setting of the same guest path', () => {
    const settings = [
      { guestPath: '/a', hostPath: '/settings/a' },
      { guestPath: '/b', hostPath: '/settings/b' },
    ]
    expect(joinMounts(settings, [{ guestPath: '/a/', hostPath: '/flag/a', mode: 'ro' }])).toEqual([
      { guestPath: '/b', hostPath: '/settings/b' },
      { guestPath: '/a/', hostPath: '/flag/a', mode: 'ro' },
    ])
  })
})
