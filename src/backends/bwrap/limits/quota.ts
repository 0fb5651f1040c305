// CPU time per period. Both versions of control groups count in microseconds of a tenth of a second.
export const periodUs = 100_000

/** The kernel takes no quota under a millisecond. */
export const quotaUs = (cores: number): number => Math.max(1000, Math.round(cores * periodUs))
