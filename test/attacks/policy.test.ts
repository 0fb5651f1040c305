// Somebody who may ask, but not decide, tries to get more than the operator allows: by asking for it, by moving what
// bounds it, by choosing a mechanism that cannot hold it, or by way of prototypes.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Capabilities, Capability } from '../../src/contract/capability.ts'
import type { OperatorPolicy, PolicyValues } from '../../src/contract/policy.ts'
import { accountFor } from '../../src/policy/enforce.ts'
import { resolvePolicy } from '../../src/policy/resolve.ts'
import { defaultBackend } from '../../src/runtime/create.ts'
import { aboveCeilings, layer } from './ceilings.ts'
import { attackedBackend, isGvisor, starters, whereNetworkOpens, type Guest, type SandboxOptions } from './host.ts'
import { attackScene } from './scene.ts'

const escalation: unknown = expect.objectContaining({ code: 'POLICY_ESCALATION' })
const invalidInput: unknown = expect.objectContaining({ code: 'INVALID_INPUT' })
const unenforceable: unknown = expect.objectContaining({ code: 'POLICY_UNENFORCEABLE' })

/** What every backend can hold, so that it is granted wherever the tests run; gVisor holds neither of the first two. */
const holdable: PolicyValues = {
  ...(isGvisor ? {} : { network: { mode: 'full' }, pids: 513 }),
  timeoutMs: 300_001,
  tmpMb: 2049,
  delete: true,
}

const plantHook = 'mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit'
const hookOf = ({ workspace }: Guest): string => join(workspace, '.git/hooks/pre-commit')

/** A document as it comes out of a parser: the key is the object's own, until somebody merges it. */
const smuggled = (values: object): PolicyValues => JSON.parse(`{"__proto__":${JSON.stringify(values)}}`) as PolicyValues

describe.each(starters)('policy, started by %s', (starter) => {
  const scene = attackScene(starter)
  const create = (policy: object, settings?: OperatorPolicy): Promise<Guest> =>
    scene.host().sandbox({ policy, ...(settings === undefined ? {} : { settings }) })
  const fieldOf = ({ description }: Guest, field: string): unknown =>
    description.policy.find((each) => each.field === field)?.value

  it('a request above a ceiling is refused', async () => {
    for (const ask of aboveCeilings) {
      await expect(create(ask), JSON.stringify(ask)).rejects.toEqual(escalation)
      // Control: the operator allows it, and the same ask is granted.
      const resolved = resolvePolicy([layer('settings', { ceilings: ask }), layer('request', ask)])
      expect(resolved.effective).toMatchObject(ask)
    }
    await expect(create({ timeoutMs: 1001 }, { ceilings: { timeoutMs: 1000 } })).rejects.toEqual(escalation)
    const granted = await create(holdable, { ceilings: holdable })
    for (const [field, value] of Object.entries(holdable))
      expect(fieldOf(granted, field), field).toEqual(field === 'network' ? { mode: 'full', allow: [] } : value)
    // A command asks as well.
    expect((await granted.run('echo ran', { timeoutMs: 300_001 })).stdout).toBe('ran\n')
    const bounded = await create({})
    await expect(bounded.run('touch ran', { timeoutMs: 300_001 })).rejects.toEqual(escalation)
    expect(existsSync(join(bounded.workspace, 'ran'))).toBe(false)
  })

  it('a request cannot move a ceiling or give up a protection', async () => {
    const ownRule = { ceilings: { timeoutMs: 400_000 }, timeoutMs: 400_000 }
    const ownLeave = { unprotect: ['.git'] }
    for (const ask of [ownRule, ownLeave]) {
      await expect(create(ask)).rejects.toEqual(invalidInput)
      for (const name of ['request', 'skill'] as const)
        expect(() => resolvePolicy([layer(name, ask)])).toThrow(escalation)
    }
    // A list of protections only ever grows, so an empty one takes nothing away.
    const asking = await create({ protect: [], denyRead: [] })
    await asking.run(plantHook)
    expect(existsSync(hookOf(asking))).toBe(false)
    // Control: the operator says the same.
    const deciding = await create({}, { ...ownRule, ...ownLeave })
    expect(fieldOf(deciding, 'timeoutMs')).toBe(400_000)
    await deciding.run(plantHook)
    expect(existsSync(hookOf(deciding))).toBe(true)
  })

  it('a backend without a wall is refused and not used without it', async () => {
    const host = scene.host()
    const asks: readonly SandboxOptions[] = [
      { policy: { network: { mode: 'none' } } },
      { policy: { denyRead: ['/workspace/hidden'] } },
      // gVisor cannot count processes.
      ...(isGvisor ? [] : [{ policy: { pids: 10 } }]),
      { mounts: [{ guestPath: '/secrets', hostPath: host.directory, mode: 'vault' }] },
    ]
    for (const wanted of asks) {
      await expect(host.sandbox({ ...wanted, backend: 'local' }), JSON.stringify(wanted)).rejects.toEqual(unenforceable)
      // Control: the one that is attacked has the wall, and takes the same.
      expect((await host.sandbox(wanted)).description.sandboxed).toBe(true)
    }
    const network = { mode: 'allowlist' as const, allow: ['example.com'] }
    await expect(host.sandbox({ settings: { network } })).rejects.toMatchObject({
      code: 'POLICY_UNENFORCEABLE',
      facts: { missing: [{ capability: 'network.allowlist' }] },
    })
    await expect(host.sandbox({ backend: 'bwarp' })).rejects.toMatchObject({ code: 'UNKNOWN_BACKEND' })
    expect(() => defaultBackend('darwin')).toThrow(expect.objectContaining({ code: 'BACKEND_UNAVAILABLE' }))
    const { enforced } = (await host.sandbox()).description
    const held = Object.fromEntries(enforced.map(({ what, by }) => [what, by]))
    expect(() => account(held)).not.toThrow()
    for (const wall of walls) {
      const { [wall]: fallen, ...rest } = held
      expect(fallen, wall).not.toBeUndefined()
      expect(() => account(rest), wall).toThrow(unenforceable)
    }
  })

  it('prototype keys set no policy value', async () => {
    const wide = { network: { mode: 'full' }, timeoutMs: 299_999 } as const
    for (const [policy, settings] of [
      [smuggled(wide), undefined],
      [{}, smuggled(wide)],
      [{}, { ceilings: smuggled(wide) }],
      [{ constructor: { prototype: wide } }, undefined],
    ] as const)
      await expect(create(policy, settings)).rejects.toEqual(invalidInput)
    // Past the schema of the door: one's own key of that name, a prototype of one's own, and a polluted one.
    expect(() => resolvePolicy([layer('settings', smuggled(wide))])).toThrow(invalidInput)
    const inherits = Object.create(wide) as object
    expect(resolvePolicy([layer('settings', inherits)]).effective).toMatchObject(builtIn)
    expect(whilePolluted(wide, () => resolvePolicy([layer('settings', {})]).effective)).toMatchObject(builtIn)
    // Control: a trusting merge and a plain lookup are deceived, and the operator's own word is taken.
    expect(Object.assign({}, smuggled(wide)).timeoutMs).toBe(wide.timeoutMs)
    expect(whilePolluted(wide, () => ({} as PolicyValues).timeoutMs)).toBe(wide.timeoutMs)
    const granted = await scene.host().sandbox({ ...whereNetworkOpens, policy: {}, settings: wide })
    expect([fieldOf(granted, 'timeoutMs'), granted.description.networkMode]).toEqual([wide.timeoutMs, 'full'])
  })
})

const builtIn = { network: { mode: 'none', allow: [] }, timeoutMs: 60_000 }

/** For as long as the look takes, every object of this process has the values. */
function whilePolluted<Seen>(values: object, look: () => Seen): Seen {
  for (const [key, value] of Object.entries(values))
    // oxlint-disable-next-line no-extend-native -- this is the attack
    Object.defineProperty(Object.prototype, key, { value, configurable: true, enumerable: true, writable: true })
  try {
    return look()
  } finally {
    for (const key of Object.keys(values)) Reflect.deleteProperty(Object.prototype, key)
  }
}

const walls = [
  'filesystem.isolated',
  'process.isolated',
  'process.tree',
  'environment.isolated',
  'network.none',
] as const satisfies readonly Capability[]

const account = (capabilities: Capabilities): unknown =>
  accountFor({
    backend: attackedBackend,
    capabilities,
    isolates: true,
    ...resolvePolicy([]),
    mounts: [],
    why: () => 'this one has none',
  })
