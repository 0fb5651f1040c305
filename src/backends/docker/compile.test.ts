import { describe, expect, it } from 'vitest'
import type { SandboxSpec } from '../../contract/backend.ts'
import type { GuestPath, HostPath, Mount, MountMode } from '../../contract/mount.ts'
import type { OperatorPolicy } from '../../contract/policy.ts'
import { resolvePolicy } from '../../policy/resolve.ts'
import { compilePlan, runArguments, type Layout } from './compile.ts'
import type { DockerFacts } from './facts.ts'

const facts: DockerFacts = {
  cliPath: '/usr/bin/docker',
  version: '27.1.0',
  context: 'default',
  image: 'glovebox/sandbox:latest',
  imageId: `sha256:${'0'.repeat(64)}`,
  runtime: undefined,
  isGvisor: false,
  holds: { memory: true, cpu: true, pids: true },
  seccomp: true,
  isHere: true,
  showsInodes: true,
  readOnlyIsDeep: true,
  operator: { uid: 1234, gid: 1234 },
  searchProgram: '/opt/package/rg' as HostPath,
}
const gvisor: DockerFacts = { ...facts, runtime: 'runsc', isGvisor: true }

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

const layout: Layout = {
  name: 'glovebox-sbx_1-1',
  idFile: '/var/lib/glovebox/docker/scratch/id',
  labels: { installation: 'i', sandbox: 'sbx_1', owner: 'o' },
  guest: { uid: 1234, gid: 1234 },
  bounds: [],
  title: 'glovebox-keeper-t',
}

describe('compile', () => {
  it('gives the plan that stands in the golden file', async () => {
    const spec = specOf({ denyRead: ['/workspace/secret'], memoryMb: 512, cpuCores: 1.5, pids: 64 }, [
      mount('/workspace', '/home/ada/project'),
      mount('/workspace/data', '/srv/data, old', 'ro'),
      mount('/mnt/skills', '/srv/skills', 'ro'),
    ])
    const { argv, mounts, filter, enforced, notEnforced } = compilePlan(spec, facts)
    const text = [...argv, '', ...mounts, '', ...filter, '', JSON.stringify({ enforced, notEnforced }, null, 2)].join(
      '\n',
    )
    await expect(text).toMatchFileSnapshot('compile.golden.txt')
  })

  it('is pure: the same spec gives the same plan', () => {
    expect(compilePlan(specOf(), facts)).toEqual(compilePlan(specOf(), facts))
  })

  it('puts neither names nor values of the environment on the command line', () => {
    const words = runArguments(specOf(), facts, layout).join(' ')
    expect(words).not.toContain('a secret value')
    expect(words).not.toContain('TOKEN')
  })

  it('has no flag that opens the boundary', () => {
    const words = runArguments(specOf(), facts, layout)
    expect(
      words.filter((word) => /privileged|--cap-add|--device|--pid=|unconfined|docker\.sock|--volume/.test(word)),
    ).toEqual([])
    expect(words).toEqual(
      expect.arrayContaining(['--network=none', '--cap-drop=ALL', '--security-opt=no-new-privileges', '--read-only']),
    )
  })

  it('never makes the guest root, whoever the operator is', () => {
    const { argv } = compilePlan(specOf(), { ...facts, operator: { uid: 0, gid: 0 } })
    expect(argv.find((word) => word.startsWith('--user='))).toBe('--user=1000:1000')
  })

  it('shares the network of the host only when the mode is full', () => {
    const open = specOf({ network: { mode: 'full' }, ceilings: { network: { mode: 'full' } } })
    expect(runArguments(open, facts, layout)).toContain('--network=host')
    expect(() => compilePlan(open, gvisor)).toThrow(expect.objectContaining({ code: 'POLICY_UNENFORCEABLE' }))
  })

  it('lays what is bound from the outside in', () => {
    const bounds = ['/workspace/a/b', '/workspace', '/workspace/a'].map((guestPath) => ({
      guestPath,
      source: `/h${guestPath}`,
      writable: true,
    }))
    const targets = runArguments(specOf(), facts, { ...layout, bounds })
      .flatMap((word) => /target=([^,]+)/.exec(word)?.[1] ?? [])
      .filter((target) => target.startsWith('/workspace'))
    expect(targets).toEqual(['/workspace', '/workspace/a', '/workspace/a/b'])
  })

  it('lets Docker remove a container with its end only where its end tells all that is to be known', () => {
    expect(runArguments(specOf(), facts, layout)).toContain('--rm')
    expect(runArguments(specOf(), gvisor, layout)).not.toContain('--rm')
  })

  it('says of gVisor what it does not hold, and refuses it to whoever demands it', () => {
    expect(compilePlan(specOf(), gvisor).notEnforced.map(({ what }) => what)).toEqual(['pids', 'syscalls.filtered'])
    expect(() => compilePlan(specOf({ pids: 64 }), gvisor)).toThrow(
      expect.objectContaining({ code: 'POLICY_UNENFORCEABLE' }),
    )
  })

  it('ends the options before the image, so that no image is read as one', () => {
    const words = runArguments(specOf(), facts, layout)
    expect(words[words.indexOf(facts.imageId) - 1]).toBe('--')
  })
})
