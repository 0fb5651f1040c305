import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Boundary, NarrowableLimits, SpawnRequest } from '../../contract/backend.ts'
import type { EffectivePolicy } from '../../contract/policy.ts'
import type { ConformanceCase } from '../case.ts'
import { collect } from '../expect.ts'
import { guest } from '../spec.ts'

const sh = (script: string): SpawnRequest => ({
  argv: ['/bin/sh', '-c', script],
  cwd: guest('/workspace'),
  env: {},
  stdin: 'none',
})

async function printed(boundary: Boundary, request: SpawnRequest): Promise<string> {
  const { stdout } = await collect(await boundary.spawn(request))
  return stdout.toString()
}

const limitsOf = ({ memoryMb, cpuCores, pids, fileSizeMb }: EffectivePolicy): NarrowableLimits => ({
  memoryMb,
  cpuCores,
  pids,
  fileSizeMb,
})

/** Boundaries that are made before anybody needs them, and handed to somebody who may do less. */
export const aheadCases: readonly ConformanceCase[] = [
  {
    title: 'prepare makes ready what a first command needs, and keeps it ready until one comes',
    async run(subject) {
      const { boundary } = await subject.boundary()
      await boundary.prepare?.()
      await boundary.prepare?.()
      assert.equal(await printed(boundary, sh('echo first; echo x > left')), 'first\n')
      // Of two that come at once, one finds nothing ready, and is served all the same.
      await boundary.prepare?.()
      const both = await Promise.all([1, 2].map((each) => printed(boundary, sh(`cat left; echo ${each}`))))
      assert.deepEqual(both, ['x\n1\n', 'x\n2\n'])
    },
  },
  {
    title: 'a boundary that is being made ready can be destroyed, and its command is refused or served whole',
    async run(subject) {
      const { boundary } = await subject.boundary()
      const preparing = boundary.prepare?.().catch(() => {})
      const running = printed(boundary, sh('echo served')).catch(() => 'served\n')
      await pause(1)
      assert.equal(await running, 'served\n')
      const again = boundary.prepare?.().catch(() => {})
      await subject.backend.destroy(boundary.id)
      await Promise.all([preparing, again])
      await assert.rejects(boundary.spawn(sh('echo late')))
    },
  },
  {
    title: 'narrow holds every later command to less than what the boundary was made with, and never to more',
    requires: ['fileSize'],
    async run(subject) {
      const spec = await subject.spec()
      const { boundary } = await subject.boundary()
      await boundary.prepare?.()
      const made = limitsOf(spec.policy)
      if (boundary.narrow !== undefined)
        await assert.rejects(boundary.narrow({ ...made, fileSizeMb: made.fileSizeMb + 1 }))
      const isNarrowed = (await boundary.narrow?.({ ...made, fileSizeMb: 1 })) ?? false
      const write = sh('head -c 3000000 /dev/zero > big 2>/dev/null; wc -c < big')
      const expected = isNarrowed ? 1024 * 1024 : 3_000_000
      assert.equal(Number(await printed(boundary, write)), expected)
      assert.equal(Number(await printed(boundary, write)), expected, 'the second, too')
      if (isNarrowed) await assert.rejects(async () => boundary.narrow?.(made))
    },
  },
]
