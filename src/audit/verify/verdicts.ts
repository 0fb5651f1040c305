// The verdicts, from the one that says that all is well to the gravest, each with its exit code: scripts tell them apart
// without reading text. 1 and 2 stay what they are elsewhere: could not be done, and badly put.
export const verdictTable = {
  ok: { exit: 0, means: 'Every record is linked, and the last one is signed.' },
  'unsigned-tail': {
    exit: 10,
    means: 'Every record is linked; the newest are not signed yet, or their head was removed.',
  },
  'torn-tail': { exit: 11, means: 'The end was cut short while it was written. Nothing that was answered is missing.' },
  truncated: { exit: 12, means: 'A signed head names a record that is not there: the end was cut off.' },
  'bad-signature': { exit: 13, means: 'A head, or the key itself, is not what the key signed.' },
  forked: { exit: 14, means: 'There are two histories: two records of one number, or a head of another record.' },
  broken: { exit: 15, means: 'A record was changed, removed or moved.' },
} as const

export type Verdict = keyof typeof verdictTable

export interface Finding {
  readonly verdict: Verdict
  readonly what: string
  readonly file?: string
  readonly segment?: number
  /** Counted from 1. */
  readonly line?: number
  /** Of the line's first byte in its file. */
  readonly offset?: number
  readonly seq?: number
}

const gravity = Object.keys(verdictTable) as readonly Verdict[]

export const gravest = (findings: readonly Finding[]): Verdict =>
  findings.reduce<Verdict>(
    (worst, { verdict }) => (gravity.indexOf(verdict) > gravity.indexOf(worst) ? verdict : worst),
    'ok',
  )
