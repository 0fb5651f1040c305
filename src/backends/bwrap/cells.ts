// The cells of one sandbox. A command takes one that rests, or gets a new one; afterwards it rests again, for a while. Commands
// that run at the same time are in different cells, and know as little of each other as in boundaries of their own.
import type { Process } from '../../contract/backend.ts'
import type { Cell } from './cell.ts'

// Enough for an agent that does a few things at once; and short enough that a sandbox at rest holds no process.
const mostAtRest = 4
const longestRestMs = 10_000

export interface Cells {
  run(line: string, laid: Laid): Promise<Process>
  /** Ends them all, those at rest too. */
  endAll(): Promise<void>
}

/** What a new cell would be made of. Cells of an earlier one are not used any more. */
export interface Laid {
  readonly words: readonly string[]
  /** All of them must stand before a command is let into a cell that is not new. */
  readonly mountPoints: readonly string[]
}

interface Resting {
  readonly cell: Cell
  readonly laid: Laid
  readonly end: NodeJS.Timeout
}

export function openCells(create: (laid: Laid) => Promise<Cell>): Cells {
  const all = new Set<Cell>()
  let resting: Resting[] = []
  let isOver = false

  const wake = (one: Resting): Cell => {
    clearTimeout(one.end)
    resting = resting.filter((other) => other !== one)
    one.cell.ref()
    return one.cell
  }
  const findAtRest = (laid: Laid): Cell | undefined => {
    for (const one of resting.toReversed()) {
      const cell = wake(one)
      if (one.laid === laid && cell.stands(laid.mountPoints)) return cell
      cell.kill()
    }
    return undefined
  }
  /** Whoever runs one command after another comes back before the last one's cell has been looked over. */
  const findSettling = async (laid: Laid): Promise<Cell | undefined> => {
    const settling = [...all].find((cell) => cell.isSettling())
    return settling !== undefined && (await settling.isFit()) ? findAtRest(laid) : undefined
  }
  const createCell = async (laid: Laid): Promise<Cell> => {
    const cell = await create(laid)
    all.add(cell)
    void cell.gone.then(() => {
      all.delete(cell)
      const one = resting.find((other) => other.cell === cell)
      if (one !== undefined) wake(one)
    })
    return cell
  }
  const rest = async (cell: Cell, laid: Laid): Promise<void> => {
    const isFit = await cell.isFit()
    if (!isFit || isOver || resting.length >= mostAtRest) return cell.kill()
    const one: Resting = { cell, laid, end: setTimeout(() => wake(one).kill(), longestRestMs).unref() }
    resting.push(one)
    cell.unref()
  }

  return {
    async run(line, laid) {
      const cell = findAtRest(laid) ?? (await findSettling(laid)) ?? (await createCell(laid))
      const process = cell.run(line)
      void rest(cell, laid)
      return process
    },
    async endAll() {
      isOver = true
      const ending = [...all]
      for (const one of resting) wake(one)
      for (const cell of ending) cell.kill()
      await Promise.all(ending.map((cell) => cell.gone))
    },
  }
}
