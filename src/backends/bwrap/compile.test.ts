import { describe, expect, it } from 'vitest'
import type { SandboxSpec } from '../../contract/backend.ts'
import type { GuestPath, HostPath, Mount, MountMode } from '../../contract/mount.ts'
import type { OperatorPolicy } from '../../contract/policy.ts'
import { resolvePolicy } from '../../policy/resolve.ts'
import { boundaryArguments, compilePlan, type Layout } from './compile.ts'
import type { HostFacts } from './facts.ts'
import { compileFilter } from './seccomp/filter.ts'

const facts: HostFacts = {
  bwrapPath: '/usr/bin/bwrap',
  version: '0.8.0',
  bindsByDescriptor: true,
  startedByRoot: false,
  architecture: 'x64',
  system: [{ path: '/usr' }, { path: '/bin', linkTarget: 'usr/bin' }, { path: '/etc' }],
  resolverFile: '/run/resolver/stub.conf',
  hardProcesses: 100_000,
  hardFileBlocks: Number.MAX_SAFE_INTEGER,
  searchProgram: '/opt/package/rg' as HostPath,
}
const limits = { enforces: ['memory', 'cpu', 'pids'], by: 'cgroup v2' } as const

const mount = (guestPath: string, hostPath: string, mode: MountMode = 'rw'): Mount => ({
  guestPath: guestPath as GuestPath,
  hostPath: hostPath as HostPath,
  mode,
})

function specOf(settings: OperatorPolicy = {}, mounts = [mount('/workspace', '/home/ada/project')]): SandboxSpec {
  const resolved = resolvePolicy([{ layer: 'settings', source: 'test', values: settings }])
  return {
    mounts,
    home: { guestPath: '/home/agent' as GuestPath, hostPath: '/home/ada/project/.glovebox/sandbox' as HostPath },
    cwd: '/workspace' as GuestPath,
    policy: resolved.effective,
    demanded: resolved.demanded,
    env: { HOME: '/home/agent', LANG: 'C.UTF-8', TOKEN: 'a secret value' },
  }
}

const filter = compileFilter({ arch: 'x64', pty: false })
const plan = (spec: SandboxSpec) => compilePlan(spec, facts, limits, filter)
const layoutOf = (spec: SandboxSpec, rest: Partial<Layout> = {}): Layout => ({
  home: { descriptor: 7 },
  mounts: spec.mounts.map((each, index) => ({ mount: each, source: { descriptor: 8 + index } })),
  searchProgram: { path: facts.searchProgram },
  guards: [],
  masks: [],
  ...rest,
})
const positions = (words: readonly string[], ...guestPaths: string[]): readonly number[] =>
  guestPaths.map((path) => words.lastIndexOf(path))

describe('compile', () => {
  it('gives the plan that stands in the golden file', async () => {
    const spec = specOf({ denyRead: ['/workspace/secret'], network: { mode: 'full' } }, [
      mount('/workspace', '/home/ada/project'),
      mount('/workspace/data', '/srv/data', 'ro'),
      mount('/mnt/skills', '/srv/skills', 'ro'),
    ])
    const { argv, mounts, enforced, notEnforced } = plan(spec)
    const text = [...argv, '', ...mounts, '', JSON.stringify({ enforced, notEnforced }, null, 2)].join('\n')
    await expect(text).toMatchFileSnapshot('compile.golden.txt')
  })

  it('is pure: the same spec gives the same plan', () => {
    expect(plan(specOf())).toEqual(plan(specOf()))
  })

  it('shows the names of variables and never their values', () => {
    const { argv } = plan(specOf())
    expect(argv.join(' ')).toContain('TOKEN')
    expect(argv.join(' ')).not.toContain('a secret value')
  })

  it('shares the network only when the mode is full, and brings the resolver along', () => {
    const none = boundaryArguments(specOf(), facts, layoutOf(specOf()))
    const open = specOf({ network: { mode: 'full' } })
    const full = boundaryArguments(open, facts, layoutOf(open))
    expect(none).toContain('--unshare-net')
    expect(none).not.toContain(facts.resolverFile)
    expect(full).not.toContain('--unshare-net')
    expect(full).toContain(facts.resolverFile)
  })

  it('lays mounts and guards from the outside in, whatever their order and mode', () => {
    const spec = specOf({}, [
      mount('/workspace/a/b', '/h3'),
      mount('/workspace', '/h1', 'ro'),
      mount('/workspace/a', '/h2'),
    ])
    const guards = [
      { guestPath: '/workspace/a/.git', source: '/h2/.git', rule: 'pin' as const },
      { guestPath: '/workspace/a/.git/hooks', source: '/h2/.git/hooks', rule: 'readonly' as const },
    ]
    const words = boundaryArguments(spec, facts, layoutOf(spec, { guards }))
    const order = positions(words, '/workspace', '/workspace/a', '/workspace/a/.git', '/workspace/a/.git/hooks')
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(words.lastIndexOf('/workspace/a')).toBeLessThan(words.lastIndexOf('/workspace/a/b'))
  })

  it('masks come after every mount, and the root is closed at the very end', () => {
    const spec = specOf()
    const masks = [{ guestPath: '/workspace/dir' }, { guestPath: '/workspace/file', coverFile: '/state/cover' }]
    const words = boundaryArguments(spec, facts, layoutOf(spec, { masks }))
    expect(words.indexOf('/workspace/dir')).toBeGreaterThan(words.lastIndexOf('/workspace'))
    expect(words.slice(words.indexOf('/workspace/dir') - 5, words.indexOf('/workspace/dir') + 3)).toEqual([
      '--perms',
      '0000',
      '--size',
      '4096',
      '--tmpfs',
      '/workspace/dir',
      '--remount-ro',
      '/workspace/dir',
    ])
    expect(words.slice(-2)).toEqual(['--remount-ro', '/'])
  })

  it('binds by descriptor where it has one', () => {
    const spec = specOf({}, [mount('/workspace', '/h1'), mount('/ref', '/h2', 'ro')])
    const words = boundaryArguments(spec, facts, layoutOf(spec)).join(' ')
    expect(words).toContain('--bind-fd 8 /workspace')
    expect(words).toContain('--ro-bind-fd 9 /ref')
  })
})
