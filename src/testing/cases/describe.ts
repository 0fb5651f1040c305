import assert from 'node:assert/strict'
import { capabilityNames } from '../../contract/capability.ts'
import type { ConformanceCase } from '../case.ts'
import { hidesTheHost } from '../expect.ts'

export const describeCases: readonly ConformanceCase[] = [
  {
    title: 'describe names the sandbox, its backend and its mounts in the words of the guest',
    async run({ backend, scene }) {
      const { sandbox } = await scene('nested')
      const told = sandbox.describe()
      assert.deepEqual([told.id, told.backend], [sandbox.id, backend.name])
      const modes = new Map(told.mounts.map(({ guestPath, mode }) => [guestPath, mode]))
      assert.deepEqual([modes.get('/workspace'), modes.get('/workspace/inner')], ['rw', 'rw'])
    },
  },
  {
    title: 'describe tells which mounts are read-only',
    async run({ scene }) {
      const told = (await scene('readonly')).sandbox.describe()
      const readOnly = told.mounts.filter(({ mode }) => mode === 'ro').map(({ guestPath }) => guestPath)
      assert.deepEqual(readOnly.toSorted(), ['/reference', '/workspace/frozen'])
    },
  },
  {
    title: 'describe holds no host path',
    async run({ scene }) {
      for (const name of ['plain', 'nested'] as const) hidesTheHost((await scene(name)).sandbox.describe())
    },
  },
  {
    title: 'describe claims only what the backend is capable of',
    async run({ backend, scene }) {
      const { sandbox } = await scene('plain')
      for (const { what, by } of sandbox.describe().enforced) {
        assert.ok(backend.capabilities[what] !== undefined, `${what} is claimed, but is not a capability`)
        assert.ok(by.length > 0)
      }
    },
  },
  {
    title: 'describe leaves no limit out: each is enforced, or not enforced with a reason',
    async run({ scene }) {
      const told = (await scene('plain')).sandbox.describe()
      const enforced = told.enforced.map(({ what }) => what)
      const not = told.notEnforced.map(({ what }) => what)
      for (const limit of ['memory', 'cpu', 'pids', 'fileSize', 'timeout', 'output.bounded'] as const) {
        assert.equal([...enforced, ...not].filter((what) => what === limit).length, 1, limit)
      }
      for (const { what, why } of told.notEnforced) assert.ok(why.length > 10, `no reason is given for ${what}`)
      for (const what of [...enforced, ...not]) assert.ok(capabilityNames.includes(what))
    },
  },
  {
    title: 'describe says sandboxed only where the filesystem is isolated',
    async run({ backend, scene }) {
      const told = (await scene('plain')).sandbox.describe()
      assert.equal(told.sandboxed, backend.capabilities['filesystem.isolated'] !== undefined)
    },
  },
  {
    title: 'describe tells every effective value of the policy with the layer that it came from',
    async run({ create }) {
      const sandbox = await create({ settings: { maxStderrBytes: 2000 }, request: { timeoutMs: 5000 } })
      const told = new Map(sandbox.describe().policy.map((field) => [field.field, field]))
      assert.deepEqual([told.get('timeoutMs')?.value, told.get('timeoutMs')?.from.layer], [5000, 'request'])
      assert.deepEqual([told.get('maxStderrBytes')?.value, told.get('maxStderrBytes')?.from.layer], [2000, 'settings'])
      assert.equal(told.get('pids')?.from.layer, 'default')
    },
  },
  {
    title: 'describe tells the network mode that the policy sets',
    async run({ scene }) {
      const told = (await scene('plain')).sandbox.describe()
      const network = told.policy.find(({ field }) => field === 'network')?.value
      assert.deepEqual(network, { mode: 'none', allow: [] })
      assert.equal(told.networkMode, 'none')
    },
  },
]
