/** One number of SPECIFICATION.md: what was measured, against what, and whether the promise holds. */
export interface Result {
  readonly name: string
  readonly promise: string
  readonly measured: number
  readonly limit: number
  readonly unit: 'ratio' | 'ms' | 'count' | 'KiB' | 'MiB' | 'MB/s'
  readonly holds: boolean
  /** What stands behind the number. */
  readonly figures: Readonly<Record<string, unknown>>
}

export const atMost = (result: Omit<Result, 'holds'>): Result => ({ ...result, holds: result.measured <= result.limit })

export const atLeast = (result: Omit<Result, 'holds'>): Result => ({
  ...result,
  holds: result.measured >= result.limit,
})
