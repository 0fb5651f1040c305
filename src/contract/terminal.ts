// The size of a pseudo-terminal, in characters. It stands alone, so that whoever only draws one needs no types of Node's.

export interface TerminalSize {
  readonly cols: number
  readonly rows: number
}

/** What programs take for granted where nobody says anything else. */
export const customarySize: TerminalSize = { cols: 80, rows: 24 }

/** The kernel keeps sixteen bits of each; beyond this a screen costs memory and shows nobody anything. */
export const largestSize: TerminalSize = { cols: 1000, rows: 500 }

export const isTerminalSize = ({ cols, rows }: TerminalSize): boolean =>
  isCount(cols, largestSize.cols) && isCount(rows, largestSize.rows)

const isCount = (value: number, most: number): boolean => Number.isInteger(value) && value > 0 && value <= most
