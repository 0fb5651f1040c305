// A thousand execs in a row must leave nothing behind: no descriptor, and no memory beyond the collector's ups and downs.
import { readdirSync } from 'node:fs'
import { Sandbox } from '../src/index.ts'
import { round } from './interleave.ts'
import { openPlace } from './place.ts'
import { atMost, type Result } from './result.ts'

const mebibyte = 1024 * 1024

export async function flatBench(): Promise<readonly Result[]> {
  using place = openPlace()
  await using sandbox = await Sandbox.create({
    mounts: [{ guestPath: '/workspace', hostPath: place.directory('workspace') }],
  })
  const run = async (times: number): Promise<void> => {
    for (let index = 0; index < times; index += 1) await sandbox.commands.run(['/bin/true'])
  }
  // The heap finds its size during the first thousand; what grows after that grows for ever.
  await run(1000)
  const before = look()
  await run(1000)
  const after = look()
  return [
    atMost({
      name: 'descriptors after 1,000 execs − before',
      promise: '≤ 0',
      measured: after.descriptors - before.descriptors,
      limit: 0,
      unit: 'count',
      figures: { before, after },
    }),
    atMost({
      name: 'resident memory after 1,000 execs − before',
      promise: '≤ 16 MiB',
      measured: round(after.residentMiB - before.residentMiB),
      limit: 16,
      unit: 'MiB',
      figures: { before, after },
    }),
  ]
}

const look = () => ({
  descriptors: readdirSync('/proc/self/fd').length,
  residentMiB: round(process.memoryUsage().rss / mebibyte),
})
