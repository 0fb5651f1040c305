// Runs contestants in turn within one run, so that a noisy machine disturbs all of them alike, and compares medians.

export type Contestant = () => Promise<void>

export interface Figures {
  readonly medianMs: number
  readonly p90Ms: number
  readonly samples: number
}

export async function interleave<Name extends string>(
  contestants: Readonly<Record<Name, Contestant>>,
  rounds: number,
  warmUp = 3,
  /** Not timed: before each of them. */
  before: (name: Name) => Promise<void> = async () => {},
): Promise<Readonly<Record<Name, Figures>>> {
  const names = Object.keys(contestants) as Name[]
  const times = new Map<Name, number[]>(names.map((name) => [name, []]))
  for (let round = -warmUp; round < rounds; round += 1) {
    // The order turns, so that nobody always comes after the same neighbour.
    for (const offset of names.keys()) {
      const name = names[(offset + round + warmUp) % names.length] as Name
      await before(name)
      const startedAt = performance.now()
      await contestants[name]()
      if (round >= 0) times.get(name)?.push(performance.now() - startedAt)
    }
  }
  return Object.fromEntries(names.map((name) => [name, figures(times.get(name) ?? [])])) as Record<Name, Figures>
}

function figures(times: readonly number[]): Figures {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN)
  return { medianMs: at(0.5), p90Ms: at(0.9), samples: sorted.length }
}

export const round = (value: number): number => Math.round(value * 1000) / 1000
