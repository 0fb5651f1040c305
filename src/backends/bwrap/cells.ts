// The cells of one sandbox. A command takes one that rests, or gets a new one; afterwards it rests again, for a while. Commands
// that run at the same time are in different cells, and know as little of each other as in boundaries of their own.
import type { Process } from '../../contract/backend.ts'
import { GloveboxError } from '../../errors/error.ts'
import { inTime } from '../../process/in-time.ts'
import type { Cell } from './cell.ts'
import { nothing } from './keeper.ts'

// Enough for an agent that does a few things at once; and short enough that a sandbox at rest holds no process.
const mostAtRest = 4
const longestRestMs = 10_000
/** One that takes longer is handed on as it is: whoever waits for its command can end it then. */
const beginsWithinMs = 1000

export interface Cells {
  run(line: string, laid: Laid): Promise<Process>
  /** Makes one that rests until a command comes, however long that takes; or briefly, as it would after a command. */
  prepare(laid: Laid, options?: { readonly briefly?: boolean }): Promise<void>
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
  /** Absent: it is kept ready. */
  end: NodeJS.Timeout | undefined
}

/** Being made ahead. A command that comes meanwhile takes it as it would take a new one. */
interface Coming {
  readonly laid: Laid
  readonly cell: Promise<Cell>
}

export function openCells(create: (laid: Laid) => Promise<Cell>): Cells {
  const all = new Set<Cell>()
  let resting: Resting[] = []
  let coming: Coming | undefined
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
    for (const cell of all) {
      if (!cell.isSettling() || !(await cell.settle())) continue
      const found = findAtRest(laid)
      if (found !== undefined) return found
    }
    return undefined
  }
  const takeComing = async (laid: Laid): Promise<Cell | undefined> => {
    if (coming?.laid !== laid) return undefined
    const { cell } = coming
    coming = undefined
    return cell
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
    restBriefly(cell, laid)
  }
  const restBriefly = (cell: Cell, laid: Laid): void => {
    const one: Resting = { cell, laid, end: setTimeout(() => wake(one).kill(), longestRestMs).unref() }
    resting.push(one)
    cell.unref()
  }
  const keep = (cell: Cell, laid: Laid): void => {
    resting.push({ cell, laid, end: undefined })
    cell.unref()
  }
  /** Lets commands take it while it comes to be ready. False: one has, and is told what became of it. */
  const offer = async (one: Coming, ready: Promise<unknown>): Promise<boolean> => {
    coming = one
    const [settled] = await Promise.allSettled([ready])
    if (coming !== one) return false
    coming = undefined
    if (settled.status === 'rejected') throw settled.reason
    return true
  }
  const makeAhead = async (laid: Laid): Promise<void> => {
    const made = createCell(laid)
    const isReady = made.then((cell) => cell.ready)
    if (!(await offer({ laid, cell: made }, isReady))) return
    const tried = made.then(tryOut)
    if (!(await offer({ laid, cell: tried }, tried))) return
    const cell = await tried
    if (isOver) cell.kill()
    else keep(cell, laid)
  }

  /** Without a try: whoever is about to come would wait for that, too. */
  const makeNow = async (laid: Laid): Promise<void> => {
    const made = createCell(laid)
    const isReady = made.then((cell) => cell.ready)
    if (!(await offer({ laid, cell: made }, isReady))) return
    const cell = await made
    if (!(await isReady) || isOver) cell.kill()
    else restBriefly(cell, laid)
  }

  return {
    async run(line, laid) {
      for (;;) {
        const rested = findAtRest(laid)
        const cell = rested ?? (await takeComing(laid)) ?? (await findSettling(laid)) ?? (await createCell(laid))
        const running = cell.run(line)
        void rest(cell, laid)
        if (rested === undefined || (await inTime(running.begun, beginsWithinMs)) !== false) return running
        // It was killed behind our back, and its last words are nobody's.
        for (const stream of [running.stdout, running.stderr]) stream.resume()
      }
    },
    async prepare(laid, { briefly = false } = {}) {
      const found = findAtRest(laid) ?? (await findSettling(laid))
      const settle = briefly ? restBriefly : keep
      if (found !== undefined) settle(found, laid)
      else if (coming?.laid !== laid) await (briefly ? makeNow(laid) : makeAhead(laid))
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

const notReady = (): GloveboxError =>
  new GloveboxError('BOUNDARY_FAILED', 'Cannot make the sandbox ready: bwrap could not set up the boundary', {
    hint: 'Nothing has run. `glovebox doctor` tells what is wrong with the backend.',
  })

/** A first command that does nothing: what it touches is in memory for the next, and what does not work is known. */
async function tryOut(cell: Cell): Promise<Cell> {
  const { stdout, stderr } = cell.run(nothing)
  for (const stream of [stdout, stderr]) stream.resume()
  if (await cell.isFit()) return cell
  cell.kill()
  throw notReady()
}
