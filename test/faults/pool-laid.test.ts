// Sandboxes that are laid ahead of their use: everything but a process is there before anybody asks. The real pool on bubblewrap; what it
// holds is read from the kernel and the disk.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Backend } from '../../src/contract/backend.ts'
import type { HostPath } from '../../src/contract/mount.ts'
import { openLeases } from '../../src/runtime/pool/leases.ts'
import type { Member } from '../../src/runtime/pool/member.ts'
import { openRealPool, type RealPool } from '../../src/runtime/pool/open.ts'
import { openSpares } from '../../src/runtime/pool/spares.ts'
import { openServedBackends, type ServedBackends } from '../../src/runtime/server/backends.ts'
import type { PoolSettings } from '../../src/runtime/settings.ts'
import type { VaultRequests } from '../../src/runtime/secrets.ts'
import { below } from './below.ts'
import { controlGroupsOf, sandboxIdsIn } from './traces.ts'

let state: HostPath
let backends: ServedBackends
let real: RealPool
const data = (): string => join(state, '..', 'data')
const keys = (): string => join(state, '..', 'keys')

beforeEach(() => {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-laid-')))
  state = join(place, 'state') as HostPath
  for (const path of [state, data(), keys()]) mkdirSync(path)
  vi.stubEnv('GLOVEBOX_STATE_DIR', state)
  backends = openServedBackends(['bwrap'])
})
afterEach(async () => {
  await real.pool.shutdown()
  await backends.close()
  vi.unstubAllEnvs()
  rmSync(join(state, '..'), { recursive: true, force: true })
})

async function open(settings: Partial<PoolSettings> = {}, vaults: VaultRequests = {}): Promise<void> {
  const leases = await openLeases({ state })
  const common = {
    state,
    backends,
    leases,
    layers: [],
    env: {},
    operatorEnv: {},
    lifeMs: 600_000,
    limits: { replicas: 10 },
  }
  real = openRealPool({ ...common, settings: settings as PoolSettings, vaults })
}
type Asked = NonNullable<Parameters<RealPool['pool']['acquire']>[1]>
const make = async (request: Asked['request'] = {}): Promise<Member> =>
  (await real.pool.acquire(undefined, { request })).handle
const said = async ({ sandbox }: Member, command: string): Promise<string> =>
  (await sandbox.commands.run(command)).stdout
const wasLaid = ({ directory }: Member): boolean => lstatSync(directory).isSymbolicLink()
const spares = (): readonly string[] => (existsSync(join(state, 'spares')) ? readdirSync(join(state, 'spares')) : [])
/** The first is made cold, unless one waits with a process; from then on some are laid. */
const untilLaid = async ({ warm }: { readonly warm: number } = { warm: 0 }): Promise<void> => {
  await real.members.spares.filled()
  const first = await make()
  expect(wasLaid(first)).toBe(warm > 0)
  await real.pool.destroy(first.id)
  await real.members.spares.filled()
  expect(spares()).toHaveLength(warm + 2)
  await expect.poll(bwraps, { message: 'that of the first one is gone' }).toHaveLength(warm)
}

const bwraps = (): readonly number[] =>
  below(process.pid)
    .filter(({ name }) => name === 'bwrap')
    .map(({ pid }) => pid)
/** While it sets the boundary up there are two of that name. */
const standing = (): readonly number[] => bwraps().filter((pid) => below(pid).some(({ name }) => name !== 'bwrap'))

/** By a descriptor of this process. */
const isHeld = (path: string): boolean =>
  readdirSync('/proc/self/fd').some((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`) === path
    } catch {
      // The one by which they are listed.
      return false
    }
  })

describe('sandboxes that are laid ahead', () => {
  it('are none before somebody has asked for one, cost no process, and are taken by those who ask next', async () => {
    await open()
    await real.members.spares.filled()
    expect(spares()).toEqual([])
    await untilLaid()
    expect(bwraps()).toEqual([])
    expect(real.members.spares.ahead).toEqual({ ready: 0, wanted: 0, failed: 0, why: null })
    const [one, other] = [await make(), await make()]
    expect([one, other].map(wasLaid)).toEqual([true, true])
    await said(one, 'echo mine > /workspace/note')
    expect(await said(other, 'ls -A /workspace /tmp')).not.toContain('note')
    expect(await said(one, 'cat /workspace/note')).toBe('mine\n')
  })

  it('get their process when somebody is about to ask for one that they could be, and that is the one he gets', async () => {
    await open()
    await untilLaid()
    real.members.expect({ snapshot: 'snap_of_something' })
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(bwraps()).toEqual([])
    real.members.expect({})
    await expect.poll(standing).toHaveLength(1)
    const before = standing()
    const member = await make()
    expect([wasLaid(member), await said(member, 'echo here')]).toEqual([true, 'here\n'])
    expect(bwraps()).toEqual(before)
  })

  it('get none for one of a crowd before its first command, and a crowd leaves those that have one to others', async () => {
    await open({ warm: 1 })
    await untilLaid({ warm: 1 })
    const ready = standing()
    const ofCrowd = await make({ isUnhurried: true })
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect([wasLaid(ofCrowd), standing(), real.members.spares.ahead.ready]).toEqual([true, ready, 1])
    // Who is in a hurry gets the process that waits.
    const hurried = await make()
    expect([wasLaid(hurried), standing()]).toEqual([true, expect.arrayContaining([...ready])])
    expect(await said(ofCrowd, 'echo late')).toBe('late\n')
  })

  it('one of a crowd that is made from nothing gets its process with its first command, too', async () => {
    await open()
    const ofCrowd = await make({ isUnhurried: true })
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect([wasLaid(ofCrowd), bwraps()]).toEqual([false, []])
    expect(await said(ofCrowd, 'echo late')).toBe('late\n')
    expect(bwraps()).not.toEqual([])
  })

  it('have what their claimant asks for, or are not taken', async () => {
    await open()
    await untilLaid()
    const narrow = await make({ policy: { fileSizeMb: 1 }, env: { MINE: 'yes' } })
    expect(wasLaid(narrow)).toBe(true)
    const write = 'head -c 3000000 /dev/zero > /workspace/big 2>/dev/null; wc -c < /workspace/big; echo $MINE'
    expect(await said(narrow, write)).toBe('1048576\nyes\n')
    const wide = await make({ policy: { denyRead: ['/workspace/hidden'] } })
    expect(wasLaid(wide)).toBe(false)
    const plain = await make()
    expect(wasLaid(plain)).toBe(true)
    expect(await said(plain, write)).toBe('3000000\n\n')
  })

  it('what the operator has changed since is seen by whoever comes next', async () => {
    writeFileSync(join(data(), 'version'), 'old')
    writeFileSync(join(keys(), 'first'), 'v')
    await open({ mounts: [{ guestPath: '/data', hostPath: data(), mode: 'ro' }] }, { keys: { directory: keys() } })
    await untilLaid()
    const before = await make()
    expect([wasLaid(before), await said(before, 'cat /data/version; ls /vaults/keys')]).toEqual([true, 'oldfirst\n'])
    await real.members.spares.filled()
    // As a deployment does it: another directory under the same name.
    renameSync(data(), `${data()}.old`)
    mkdirSync(data())
    writeFileSync(join(data(), 'version'), 'new')
    const replaced = await make()
    expect([wasLaid(replaced), await said(replaced, 'cat /data/version')]).toEqual([false, 'new'])
    await real.members.spares.filled()
    writeFileSync(join(keys(), 'second'), 'v')
    const further = await make()
    expect([wasLaid(further), await said(further, 'ls /vaults/keys')]).toEqual([false, 'first\nsecond\n'])
    await real.members.spares.filled()
    // What was found to be of yesterday is ended behind those who wait for new ones.
    await expect.poll(spares, { message: 'two that wait, and one that was taken' }).toHaveLength(3)
    const after = await make()
    expect([wasLaid(after), await said(after, 'ls /vaults/keys')]).toEqual([true, 'first\nsecond\n'])
  })

  it('are none on a backend whose sandboxes may cost something while they wait', async () => {
    await backends.close()
    backends = openServedBackends(['local'])
    await open()
    expect(wasLaid(await make())).toBe(false)
    await real.members.spares.filled()
    expect(spares()).toEqual([])
  })

  it('have the vaults that the operator gives to all', async () => {
    writeFileSync(join(keys(), 'github'), 'value-of-github')
    await open({ warm: 1 }, { keys: { directory: keys() } })
    await real.members.spares.filled()
    const ready = await make()
    expect([wasLaid(ready), await said(ready, 'ls /vaults/keys')]).toEqual([true, 'github\n'])
    expect(ready.sandbox.describe().vaults.map(({ name }) => name)).toEqual(['keys'])
  })

  it('that nobody takes go with the pool, and leave nothing', async () => {
    await open()
    await untilLaid()
    const ids = sandboxIdsIn(state)
    expect(controlGroupsOf(ids).length).toBeGreaterThan(0)
    await real.pool.shutdown()
    expect(spares()).toEqual([])
    expect(readdirSync(join(state, 'bwrap'))).toEqual([])
    expect(readdirSync(join(state, 'placeholders'))).toEqual([])
    expect(controlGroupsOf(ids)).toEqual([])
  })

  it('that cannot be made let go of all that was opened for them', async () => {
    await open()
    const backend = await backends.get('bwrap')
    const refuse: Backend['create'] = () => Promise.reject(new Error('no boundary today'))
    const kind = async () => ({
      backend: { ...backend, create: refuse },
      wishes: { layers: [], vaults: { keys: { directory: keys() } } },
      mountsIn: () => [],
    })
    const faults: unknown[] = []
    const failing = openSpares({ state, count: 1, kind, onFault: (error) => faults.push(error) })
    await failing.filled()
    await failing.close()
    expect(faults).toHaveLength(1)
    expect(spares()).toEqual([])
    expect(isHeld(keys())).toBe(false)
  })
})
