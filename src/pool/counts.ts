// What has happened in a pool since it was opened, for whoever watches it.
import { endings, type Ending } from './ports.ts'

/** Where an acquire found its member. */
export const sources = ['process', 'warm', 'discovered', 'created'] as const
export type Source = (typeof sources)[number]

export interface Counts {
  readonly acquired: Record<Source, number>
  readonly ended: Record<Ending, number>
  /** Members found dead at borrowing, and replaced. */
  replaced: number
  /** Leases that passed to somebody else. */
  lost: number
}

const zeros = <Name extends string>(names: readonly Name[]): Record<Name, number> =>
  Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>

export const newCounts = (): Counts => ({ acquired: zeros(sources), ended: zeros(endings), replaced: 0, lost: 0 })
