import assert from 'node:assert/strict'
import type { ConformanceCase } from '../case.ts'

export const compileCases: readonly ConformanceCase[] = [
  {
    title: 'compile is pure; the same spec gives the same plan',
    async run({ backend, spec }) {
      const wanted = await spec()
      assert.deepEqual(backend.compile(wanted), backend.compile(wanted))
    },
  },
  {
    title: 'compile does not change the spec that it is given',
    async run({ backend, spec }) {
      const wanted = await spec()
      const before = structuredClone(wanted)
      backend.compile(wanted)
      assert.deepEqual(wanted, before)
    },
  },
  {
    title: 'compile touches no file: host directories that do not exist make no difference',
    async run({ backend, spec, directory }) {
      const hostPath = `${await directory()}/not-there`
      const plan = backend.compile(await spec({ mounts: [{ guestPath: '/workspace', hostPath }] }))
      assert.equal(plan.spec.mounts[0]?.hostPath, hostPath)
    },
  },
  {
    title: 'a plan names its backend and carries the spec that it was made from',
    async run({ backend, spec }) {
      const wanted = await spec()
      const plan = backend.compile(wanted)
      assert.equal(plan.backend, backend.name)
      assert.deepEqual(plan.spec, wanted)
    },
  },
  {
    title: 'a plan is printable: command line, mounts and filter survive a round trip through JSON',
    async run({ backend, spec }) {
      const plan = backend.compile(await spec())
      const shown = { argv: plan.argv, mounts: plan.mounts, filter: plan.filter }
      assert.deepEqual(JSON.parse(JSON.stringify(shown)), shown)
      for (const word of [...plan.argv, ...plan.mounts, ...plan.filter]) assert.equal(typeof word, 'string')
    },
  },
  {
    title: "a plan's command line leaves the guest's command open as …",
    async run({ backend, spec }) {
      const { argv } = backend.compile(await spec())
      assert.equal(argv.at(-1), '…', argv.join(' '))
    },
  },
  {
    title: 'a plan tells every mount in words',
    async run({ backend, spec, directory }) {
      const mounts = [
        { guestPath: '/workspace', hostPath: await directory() },
        { guestPath: '/elsewhere', hostPath: await directory() },
      ]
      const words = backend.compile(await spec({ mounts })).mounts.join('\n')
      for (const { guestPath } of mounts) assert.ok(words.includes(guestPath), `${guestPath} is missing in: ${words}`)
    },
  },
  {
    title: 'two specs that differ in a mount give different plans',
    async run({ backend, spec, directory }) {
      const one = await spec()
      const mounts = [...one.mounts, { ...one.mounts[0]!, guestPath: '/more', hostPath: await directory(), mode: 'rw' }]
      const other = { ...one, mounts } as typeof one
      assert.notDeepEqual(backend.compile(one).mounts, backend.compile(other).mounts)
    },
  },
  {
    title: 'a plan claims to enforce only what the backend is capable of, and says by what',
    async run({ backend, spec }) {
      for (const { what, by } of backend.compile(await spec()).enforced) {
        assert.ok(backend.capabilities[what] !== undefined, `${what} is claimed, but is not a capability`)
        assert.ok(by.length > 0, `nothing is named that enforces ${what}`)
      }
    },
  },
  {
    title: 'a plan gives a reason for everything that it does not enforce',
    async run({ backend, spec }) {
      for (const { what, why } of backend.compile(await spec()).notEnforced) {
        assert.ok(why.length > 10, `no reason is given for ${what}`)
      }
    },
  },
  {
    title: 'a plan never says of one thing that it is enforced and that it is not',
    async run({ backend, spec }) {
      const plan = backend.compile(await spec())
      const enforced = new Set(plan.enforced.map(({ what }) => what))
      assert.deepEqual(
        plan.notEnforced.filter(({ what }) => enforced.has(what)),
        [],
      )
    },
  },
]
