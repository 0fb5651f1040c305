// What a host process holds after doing the same thing many times.
import { resultOf } from './finished.ts'
import { faultGround, type Starter } from './ground.ts'
import { entriesBelow } from './traces.ts'

export const allowedGrowthMiB = 16

/** What the next start needs. */
const kept: ReadonlySet<string> = new Set(['bwrap-edition.json', 'locks/placeholders.reserve'])

export interface Held {
  readonly index: number
  readonly descriptors: number
  readonly threads: number
  readonly rssMiB: number
}

export interface LeakReport {
  readonly times: number
  readonly descriptors: readonly number[]
  readonly threads: readonly number[]
  readonly grewMiB: number
  /** By least squares over all samples. */
  readonly kibPerStep: number
  /** Files in the state directory after the end. */
  readonly left: readonly string[]
}

// Two things grow in steps and then stand, and are no leak: glibc spreads what is freed over an arena for each thread, and V8
// makes room for young objects as it sees fit. Both are held still, so that a leak can be told from them.
const heldStill = { under: ['env', 'MALLOC_ARENA_MAX=1', 'NODE_OPTIONS=--max-semi-space-size=2'] }

export async function repeat(starter: Starter, scenario: 'runs' | 'creates', times: number): Promise<LeakReport> {
  const ground = faultGround(starter)
  try {
    const workspace = ground.makeDirectory('workspace')
    const seen = await resultOf<readonly Held[]>(
      ground.startHost('leaks.mjs', [scenario, workspace, String(times)], heldStill),
    )
    return {
      times,
      descriptors: seen.map((each) => each.descriptors),
      threads: seen.map((each) => each.threads),
      grewMiB: (seen.at(-1)?.rssMiB ?? 0) - (seen[0]?.rssMiB ?? 0),
      kibPerStep: slope(seen) * 1024,
      left: entriesBelow(ground.stateDir).filter((name) => !name.endsWith('/') && !kept.has(name)),
    }
  } finally {
    ground.remove()
  }
}

function slope(seen: readonly Held[]): number {
  const mean = (pick: (each: Held) => number): number => seen.reduce((sum, each) => sum + pick(each), 0) / seen.length
  const [x, y] = [mean((each) => each.index), mean((each) => each.rssMiB)]
  const covariance = mean((each) => (each.index - x) * (each.rssMiB - y))
  return covariance / mean((each) => (each.index - x) ** 2)
}
