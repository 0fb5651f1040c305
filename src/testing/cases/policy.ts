import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { Capability } from '../../contract/capability.ts'
import type { OperatorPolicy, PolicyValues } from '../../contract/policy.ts'
import type { ConformanceCase } from '../case.ts'
import { refused, succeeded } from '../expect.ts'

const escalates = (what: string, request: PolicyValues, field: string): ConformanceCase => ({
  title: `a request for ${what} above the ceiling is refused with POLICY_ESCALATION`,
  async run({ create }) {
    const error = await refused('POLICY_ESCALATION', create({ request }))
    assert.ok(JSON.stringify(error.facts).includes(field), JSON.stringify(error.facts))
  },
})

const unenforceable = (capability: Capability, settings: OperatorPolicy): ConformanceCase => ({
  title: `a policy that demands ${capability} is refused with POLICY_UNENFORCEABLE where the backend lacks it`,
  lacks: [capability],
  async run({ create }) {
    const error = await refused('POLICY_UNENFORCEABLE', create({ settings }))
    assert.ok(`${error.message} ${JSON.stringify(error.facts)}`.includes(capability), error.message)
  },
})

export const policyCases: readonly ConformanceCase[] = [
  escalates('a timeout', { timeoutMs: 300_001 }, 'timeoutMs'),
  escalates('standard output', { maxStdoutBytes: 10 * 1024 * 1024 + 1 }, 'maxStdoutBytes'),
  escalates('memory', { memoryMb: 4097 }, 'memoryMb'),
  escalates('processes', { pids: 513 }, 'pids'),
  escalates('the network', { network: { mode: 'full' } }, 'network'),
  escalates('deletion', { delete: true }, 'delete'),
  escalates("a name of the operator's environment", { env: ['AWS_SECRET_ACCESS_KEY'] }, 'env'),
  {
    title: 'a refused policy makes no sandbox',
    async run({ backend, create }) {
      const before = (await backend.list()).length
      await refused('POLICY_ESCALATION', create({ request: { timeoutMs: 999_999_999 } }))
      assert.equal((await backend.list()).length, before)
    },
  },
  {
    title: 'the operator may move a ceiling, and a request up to it is then granted',
    async run({ create }) {
      const sandbox = await create({
        settings: { ceilings: { timeoutMs: 400_000 } },
        request: { timeoutMs: 350_000 },
      })
      const told = sandbox.describe().policy.find(({ field }) => field === 'timeoutMs')
      assert.deepEqual([told?.value, told?.from.layer], [350_000, 'request'])
      assert.deepEqual([told?.ceiling?.value, told?.ceiling?.from.layer], [400_000, 'settings'])
    },
  },
  {
    title: 'the operator may lower a ceiling, and a request above it is refused, not clamped',
    async run({ create }) {
      const settings = { timeoutMs: 1000, ceilings: { timeoutMs: 1000 } }
      await refused('POLICY_ESCALATION', create({ settings, request: { timeoutMs: 1001 } }))
      const sandbox = await create({ settings, request: { timeoutMs: 1000 } })
      await refused('POLICY_ESCALATION', sandbox.commands.run(['true'], { timeoutMs: 1001 }))
    },
  },
  {
    title: 'a command may not ask for more time than the ceiling allows, and does not run',
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest, host } = await room(plain)
      const work = plain.sandbox.commands.run('echo ran > ran', { cwd: guest, timeoutMs: 300_001 })
      await refused('POLICY_ESCALATION', work)
      await assert.rejects(access(join(host, 'ran')))
    },
  },
  {
    title: 'a later layer replaces a value of an earlier one',
    async run({ create }) {
      const sandbox = await create({ settings: { timeoutMs: 50_000 }, request: { timeoutMs: 300 } })
      assert.equal((await sandbox.commands.run(['sleep', '20'])).ended.by, 'timeout')
    },
  },
  {
    title: 'a misspelt field of a policy is refused, never ignored',
    async run({ create }) {
      const request = { timeoutMS: 5 } as PolicyValues
      await refused(['INVALID_INPUT', 'INVALID_SETTINGS'], create({ request }))
    },
  },
  {
    title: 'a policy value of the wrong kind is refused',
    async run({ create }) {
      for (const timeoutMs of [0, -1, 1.5, Number.NaN]) {
        await refused(['INVALID_INPUT', 'INVALID_SETTINGS'], create({ request: { timeoutMs } }))
      }
      const wordy = { network: { mode: 'open' } } as unknown as PolicyValues
      await refused(['INVALID_INPUT', 'INVALID_SETTINGS'], create({ request: wordy }))
    },
  },
  {
    title: "an empty list allows nothing: no name of the operator's environment passes",
    async run({ create }) {
      const sandbox = await create({ settings: { env: [] } })
      const named = sandbox.describe().policy.find(({ field }) => field === 'env')
      assert.deepEqual(named?.value, [])
      assert.equal(succeeded(await sandbox.commands.run('echo ${AWS_SECRET_ACCESS_KEY-none}')), 'none\n')
    },
    requires: ['environment.isolated'],
  },
  {
    title: 'an allow-list of network names is refused where the backend has no proxy, empty or not',
    lacks: ['network.allowlist'],
    async run({ create }) {
      for (const allow of [[], ['example.com']]) {
        const network = { mode: 'allowlist' as const, allow }
        await refused('POLICY_UNENFORCEABLE', create({ settings: { network, ceilings: { network } } }))
      }
    },
  },
  unenforceable('memory', { memoryMb: 512 }),
  unenforceable('cpu', { cpuCores: 1 }),
  unenforceable('pids', { pids: 64 }),
  unenforceable('files.denyRead', { denyRead: ['/workspace/private'] }),
  unenforceable('network.none', { network: { mode: 'none' } }),
]
