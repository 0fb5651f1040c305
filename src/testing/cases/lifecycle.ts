import assert from 'node:assert/strict'
import { join } from 'node:path'
import { capabilityNames } from '../../contract/capability.ts'
import { newSandboxId } from '../../contract/ids.ts'
import type { ConformanceCase } from '../case.ts'
import { collect, heartbeat, isStill, waitForBeat } from '../expect.ts'
import { guest } from '../spec.ts'

const shell = (script: string) =>
  ({ argv: ['/bin/sh', '-c', script], cwd: guest('/workspace'), env: {}, stdin: 'none' }) as const

export const lifecycleCases: readonly ConformanceCase[] = [
  {
    title: 'probe gives the same answer when it is asked again',
    async run({ backend }) {
      assert.deepEqual(await backend.probe(), await backend.probe())
    },
  },
  {
    title: 'capabilities are known names, each with what enforces it',
    async run({ backend }) {
      const known = new Set<string>(capabilityNames)
      for (const [what, by] of Object.entries(backend.capabilities)) {
        assert.ok(known.has(what), `${what} is not a capability`)
        assert.ok(typeof by === 'string' && by.length > 0, `nothing is named that enforces ${what}`)
      }
    },
  },
  {
    title: 'create gives a boundary with the id that was asked for',
    async run({ backend, spec }) {
      const id = newSandboxId()
      const boundary = await backend.create(id, backend.compile(await spec()))
      try {
        assert.equal(boundary.id, id)
      } finally {
        await backend.destroy(id)
      }
    },
  },
  {
    title: 'discover finds a boundary that this process made, and nothing else is invented',
    async run(subject) {
      const { boundary } = await subject.boundary()
      assert.equal((await subject.backend.discover(boundary.id))?.id, boundary.id)
      assert.equal(await subject.backend.discover(newSandboxId()), undefined)
    },
  },
  {
    title: 'a discovered boundary runs commands over the same files',
    async run(subject) {
      const { boundary } = await subject.boundary()
      await boundary.files.write(guest('/workspace/left.txt'), Buffer.from('here'))
      const found = await subject.backend.discover(boundary.id)
      assert.ok(found)
      const { stdout } = await collect(await found.spawn(shell('cat left.txt')))
      assert.equal(stdout.toString(), 'here')
    },
  },
  {
    title: 'discover finds nothing after destroy',
    async run(subject) {
      const { boundary } = await subject.boundary()
      await subject.backend.destroy(boundary.id)
      assert.equal(await subject.backend.discover(boundary.id), undefined)
    },
  },
  {
    title: 'list names a live boundary once, with its backend',
    async run(subject) {
      const { boundary } = await subject.boundary()
      const named = (await subject.backend.list()).filter((info) => info.id === boundary.id)
      assert.deepEqual(
        named.map((info) => info.backend),
        [subject.backend.name],
      )
    },
  },
  {
    title: 'list does not name a destroyed boundary',
    async run(subject) {
      const { boundary } = await subject.boundary()
      await subject.backend.destroy(boundary.id)
      assert.deepEqual(
        (await subject.backend.list()).filter((info) => info.id === boundary.id),
        [],
      )
    },
  },
  {
    title: 'destroy is idempotent, and ends everything that runs inside',
    async run(subject) {
      const { boundary, workspace } = await subject.boundary()
      const beat = join(workspace, 'beat')
      const child = await boundary.spawn(shell(heartbeat('beat')))
      const ended = collect(child)
      await waitForBeat(beat)
      await subject.backend.destroy(boundary.id)
      await subject.backend.destroy(boundary.id)
      await ended
      await isStill(beat)
    },
  },
  {
    title: 'destroy of an id that never was is no error',
    async run({ backend }) {
      await backend.destroy(newSandboxId())
      assert.equal(await backend.discover(newSandboxId()), undefined)
    },
  },
  {
    title: 'destroy of one boundary leaves another alone',
    async run(subject) {
      const first = await subject.boundary()
      const second = await subject.boundary()
      await subject.backend.destroy(first.boundary.id)
      const { stdout } = await collect(await second.boundary.spawn(shell('echo alive')))
      assert.equal(stdout.toString(), 'alive\n')
    },
  },
  {
    title: 'a destroyed boundary runs nothing',
    async run(subject) {
      const { boundary } = await subject.boundary()
      await subject.backend.destroy(boundary.id)
      const outcome = await boundary.spawn(shell('echo ran')).then(
        async (child) => (await collect(child)).stdout.toString(),
        () => 'refused',
      )
      assert.equal(outcome, 'refused')
    },
  },
  {
    title: 'files that a command made are still there after destroy',
    async run(subject) {
      const place = await subject.directory()
      const options = { mounts: [{ guestPath: '/workspace', hostPath: place }] }
      const first = await subject.boundary(options)
      await collect(await first.boundary.spawn(shell('echo kept > kept.txt')))
      await subject.backend.destroy(first.boundary.id)
      const second = await subject.boundary(options)
      const { stdout } = await collect(await second.boundary.spawn(shell('cat kept.txt')))
      assert.equal(stdout.toString(), 'kept\n')
    },
  },
]
