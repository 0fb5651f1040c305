// Of many answers: how long they took, all of them, and those during which the machine did not stand still.
import { round } from '../interleave.ts'
import type { Span } from './machine.ts'

/** A request and its answer. */
export type Sample = Span

export interface Figures {
  readonly p50Ms: number
  readonly p90Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  readonly samples: number
}

export interface Told extends Figures {
  /** As it came, with what the machine did to it. */
  readonly asItCame: Figures
}

export function figuresOf(samples: readonly Sample[], stalls: readonly Span[]): Told {
  return { ...quantilesOf(undisturbed(samples, stalls)), asItCame: quantilesOf(samples) }
}

/** What ran while a processor was taken away from all of us tells nothing of a server. */
function undisturbed(samples: readonly Sample[], stalls: readonly Span[]): readonly Sample[] {
  return samples.filter(({ from, to }) => !stalls.some((stall) => stall.from < to && from < stall.to))
}

function quantilesOf(samples: readonly Sample[]): Figures {
  const sorted = samples.map(({ from, to }) => to - from).toSorted((a, b) => a - b)
  const at = (share: number): number => round(sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN)
  return { p50Ms: at(0.5), p90Ms: at(0.9), p99Ms: at(0.99), maxMs: at(1), samples: sorted.length }
}
