// A pool in this process, through the door that a program has, and with a look at what only the operator sees.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openProvider } from '../../src/index.ts'
import type { Place } from '../place.ts'

export interface BenchPool extends AsyncDisposable {
  acquire(thread: string): Promise<void>
  run(thread: string): Promise<void>
  release(thread: string): Promise<void>
  destroy(thread: string): Promise<void>
  /** Long enough that as many wait as should. */
  filled(): Promise<void>
}

export interface PoolRequest {
  readonly backend: 'bwrap' | 'docker'
  readonly warm: number
}

export async function openPool(place: Place, { backend, warm }: PoolRequest): Promise<BenchPool> {
  const settingsFile = join(place.directory(`pool-${backend}`), 'glovebox.yaml')
  const settings = `pool: {use: ${backend}, warm: ${warm}, replicas: 1000}\n`
  writeFileSync(settingsFile, settings, { mode: 0o600 })
  const provider = await openProvider({ settingsFile })
  const ids = new Map<string, string>()
  const idOf = (thread: string): string => ids.get(thread) ?? ''
  // A container takes that long here.
  const makingMs = backend === 'docker' ? 1500 : 150
  return {
    async acquire(thread) {
      ids.set(thread, await provider.acquire({ user: 'bench', thread }))
    },
    async run(thread) {
      const result = await provider.get(idOf(thread))?.commands.run(['/bin/true'])
      if (result?.exitCode !== 0) throw new Error(`the command ended with ${result?.exitCode}: ${result?.stderr}`)
    },
    release: (thread) => provider.release(idOf(thread)),
    destroy: (thread) => provider.destroy(idOf(thread)),
    filled: () => delay(makingMs),
    [Symbol.asyncDispose]: () => provider.shutdown(),
  }
}
