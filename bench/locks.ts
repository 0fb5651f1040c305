// What the lock between processes adds to a write: the lock alone, taken and given back, against whole writes with it.
import { statSync } from 'node:fs'
import type { GuestPath, HostPath } from '../src/contract/mount.ts'
import { openHostFiles } from '../src/paths/host-files.ts'
import { lockKey, openLocks } from '../src/paths/lock.ts'
import { interleave, round } from './interleave.ts'
import { openPlace } from './place.ts'
import { atMost, type Result } from './result.ts'

const rounds = 300
const text = Buffer.from('a line of text\n'.repeat(50))

export async function lockBenches(): Promise<readonly Result[]> {
  using place = openPlace()
  const [workspace, lockDir] = [place.directory('workspace') as HostPath, place.directory('locks') as HostPath]
  const mounts = [{ guestPath: '/workspace' as GuestPath, hostPath: workspace, mode: 'rw' }] as const
  const files = openHostFiles({ mounts, protect: [], denyRead: [], lockDir })
  const locks = openLocks(lockDir)
  const path = (name: string): GuestPath => `/workspace/${name}` as GuestPath
  const key = lockKey(statSync(workspace, { bigint: true }), 'alone')
  await files.write(path('changed'), text)
  try {
    const times = await interleave(
      {
        lock: () => locks.hold([key], { verb: 'write', path: path('alone') }, async () => {}),
        write: async () => void (await files.write(path('written'), text)),
        append: () => files.append(path('appended'), text),
        change: () => files.update(path('changed'), { maxBytes: 10_000 }, (bytes) => bytes.toReversed()),
      },
      rounds,
      20,
    )
    const cheapest = Math.min(times.write.medianMs, times.append.medianMs, times.change.medianMs)
    return [
      atMost({
        name: 'a write with its lock ÷ the same without',
        promise: '≤ 1.1',
        measured: round(cheapest / (cheapest - times.lock.medianMs)),
        limit: 1.1,
        unit: 'ratio',
        figures: times,
      }),
    ]
  } finally {
    locks.close()
    files.close()
  }
}
