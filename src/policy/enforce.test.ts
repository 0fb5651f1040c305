import { describe, expect, it } from 'vitest'
import { capabilityNames, type Capabilities, type Capability } from '../contract/capability.ts'
import type { GuestPath, HostPath, Mount, MountMode } from '../contract/mount.ts'
import type { OperatorPolicy } from '../contract/policy.ts'
import { accountFor, type Account } from './enforce.ts'
import { resolvePolicy } from './resolve.ts'

const all = Object.fromEntries(capabilityNames.map((name) => [name, `by ${name}`])) as Capabilities
const without = (...missing: readonly Capability[]): Capabilities =>
  Object.fromEntries(Object.entries(all).filter(([name]) => !missing.some((one) => one === name)))
const mount = (mode: MountMode): Mount => ({ guestPath: '/m' as GuestPath, hostPath: '/host/m' as HostPath, mode })

interface Case {
  readonly capabilities?: Capabilities
  readonly isolates?: boolean
  readonly settings?: OperatorPolicy
  readonly mounts?: readonly Mount[]
}

function account({ capabilities = all, isolates = true, settings = {}, mounts = [] }: Case): Account {
  const { effective, demanded } = resolvePolicy([{ layer: 'settings', source: 'test', values: settings }])
  const why = (capability: Capability): string => `no means for ${capability}`
  return accountFor({ backend: 'glass', capabilities, isolates, effective, demanded, mounts, why })
}
const unenforceable = (missing: Capability): unknown =>
  expect.objectContaining({
    code: 'POLICY_UNENFORCEABLE',
    message: expect.stringContaining(missing),
    facts: expect.objectContaining({ missing: [{ capability: missing, why: `no means for ${missing}` }] }),
  })

describe('the account of a policy', () => {
  it('names by what each needed thing is enforced, and nothing that is not needed', () => {
    const { enforced, notEnforced } = account({})
    expect(notEnforced).toEqual([])
    expect(enforced.map(({ what }) => what)).toEqual(
      capabilityNames.filter(
        (name) =>
          ![
            'mount.readonly',
            'mount.vault',
            'mount.layers',
            'files.denyRead',
            'network.allowlist',
            'network.full',
            'secrets.scoped',
          ].includes(name),
      ),
    )
    expect(enforced).toContainEqual({ what: 'memory', by: 'by memory' })
  })

  it.each([
    'memory',
    'cpu',
    'pids',
    'fileSize',
    'tmpSize',
    'timeout',
    'output.bounded',
    'files.protected',
    'syscalls.filtered',
  ] as const)('%s that only the default asks for and nothing can hold is listed with the reason', (what) => {
    const { enforced, notEnforced } = account({ capabilities: without(what) })
    expect(notEnforced).toEqual([{ what, why: `no means for ${what}` }])
    expect(enforced.map((one) => one.what)).not.toContain(what)
  })

  it.each([
    ['memory', { memoryMb: 512 }],
    ['memory', { ceilings: { memoryMb: 512 } }],
    ['cpu', { cpuCores: 1 }],
    ['pids', { pids: 256 }],
    ['fileSize', { fileSizeMb: 1 }],
    ['tmpSize', { tmpMb: 1 }],
    ['tmpSize', { shmMb: 1 }],
    ['timeout', { timeoutMs: 1 }],
    ['output.bounded', { maxStderrBytes: 1 }],
    ['files.protected', { protect: ['x'] }],
    ['files.denyRead', { denyRead: ['/x'] }],
    ['environment.isolated', { env: ['A'] }],
    ['network.none', { network: { mode: 'none' } }],
    ['network.allowlist', { network: { mode: 'allowlist', allow: [] } }],
    ['network.full', { network: { mode: 'full' } }],
  ] satisfies readonly (readonly [Capability, OperatorPolicy])[])(
    '%s that a person asks for and nothing can hold is refused',
    (what, settings) => {
      for (const isolates of [true, false]) {
        expect(() => account({ capabilities: without(what), isolates, settings })).toThrow(unenforceable(what))
      }
    },
  )

  it.each(['filesystem.isolated', 'process.isolated', 'process.tree', 'environment.isolated', 'network.none'] as const)(
    'a backend that isolates is refused without %s, asked for or not',
    (what) => {
      expect(() => account({ capabilities: without(what) })).toThrow(unenforceable(what))
    },
  )

  it('a backend that isolates nothing says so', () => {
    const { enforced, notEnforced } = account({ capabilities: { timeout: 'a timer' }, isolates: false })
    expect(enforced).toEqual([{ what: 'timeout', by: 'a timer' }])
    expect(notEnforced.map(({ what }) => what)).toEqual(
      expect.arrayContaining(['filesystem.isolated', 'network.none', 'process.isolated', 'memory', 'files.protected']),
    )
  })

  it('a mount that is read-only or a vault must be held for commands too', () => {
    expect(() => account({ capabilities: without('mount.readonly'), mounts: [mount('ro')] })).toThrow(
      unenforceable('mount.readonly'),
    )
    expect(() => account({ capabilities: without('mount.vault'), mounts: [mount('vault')] })).toThrow(
      unenforceable('mount.vault'),
    )
    expect(
      account({ capabilities: without('mount.readonly', 'mount.vault'), mounts: [mount('rw')] }).notEnforced,
    ).toEqual([])
  })

  it('where nothing is isolated a read-only mount is listed as not enforced, and a vault is refused all the same', () => {
    const { notEnforced } = account({ isolates: false, capabilities: {}, mounts: [mount('ro')] })
    expect(notEnforced.map(({ what }) => what)).toContain('mount.readonly')
    expect(() => account({ isolates: false, capabilities: {}, mounts: [mount('vault')] })).toThrow(
      unenforceable('mount.vault'),
    )
  })

  it('a mount with layers is refused where they cannot be laid, isolated or not', () => {
    const layered = { ...mount('rw'), over: { lower: [], work: '/w' as HostPath } }
    for (const isolates of [true, false]) {
      expect(() => account({ isolates, capabilities: without('mount.layers'), mounts: [layered] })).toThrow(
        unenforceable('mount.layers'),
      )
    }
    expect(account({ mounts: [layered] }).enforced.map(({ what }) => what)).toContain('mount.layers')
  })

  it('the refusal names everything that is missing at once, and no host path', () => {
    const settings = { memoryMb: 1, cpuCores: 1 }
    expect(() => account({ capabilities: without('memory', 'cpu'), settings, mounts: [mount('ro')] })).toThrow(
      expect.objectContaining({
        message: 'Cannot enforce memory, cpu with glass: no means for memory; no means for cpu',
        hint: expect.stringMatching(/^Change memoryMb, cpuCores, or use/),
      }),
    )
    expect(() => account({ capabilities: {}, mounts: [mount('ro')] })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('/host') }),
    )
  })

  it('a capability of the prototype is none', () => {
    const inherited = Object.create(all) as Capabilities
    expect(() => account({ capabilities: inherited })).toThrow(
      expect.objectContaining({ code: 'POLICY_UNENFORCEABLE' }),
    )
  })
})
