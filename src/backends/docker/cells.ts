// The containers of one sandbox. A command takes one that rests, or the first that becomes free or ready; commands that run at the
// same time are in different containers, and know nothing of each other. One stays for as long as the sandbox lives.
import type { Process, SpawnRequest } from '../../contract/backend.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { Cell } from './cell.ts'
import type { CommandLimits } from './keeper.ts'

// A container takes longer to make than most commands run, so whoever waits takes whichever is free first.
const mostInMaking = 3
const mostAtRest = 4
const longestRestMs = 30_000

export interface Cells {
  run(request: SpawnRequest, key: string, limits?: CommandLimits): Promise<Process>
  /** Of those that are there now, by name. */
  names(): readonly string[]
  /** Makes the first one, so that what cannot be made is refused before anybody asks for a command. */
  prepare(key: string): Promise<void>
  /** Ends them all, those at rest too. Settles when nothing runs in them any more. */
  endAll(): Promise<void>
  /** Settles when Docker has cleared away what was ended. */
  cleared(): Promise<void>
}

export interface CellTraits {
  /** For one command that is given files of secrets. */
  readonly takesSecrets?: boolean
}

interface Waiting {
  readonly key: string
  take(cell: Cell): void
  refuse(error: unknown): void
}

interface Resting {
  readonly cell: Cell
  readonly end: NodeJS.Timeout
}

export function openCells(create: (key: string, traits?: CellTraits) => Promise<Cell>): Cells {
  const all = new Set<Cell>()
  const making = new Set<Promise<void>>()
  const makingOwn = new Set<Promise<void>>()
  let resting: Resting[] = []
  let waiting: Waiting[] = []
  let isOver = false

  const wake = (one: Resting): Cell => {
    clearTimeout(one.end)
    resting = resting.filter((other) => other !== one)
    one.cell.ref()
    return one.cell
  }
  const takeAtRest = (key: string): Cell | undefined => {
    for (const one of resting.toReversed()) {
      const cell = wake(one)
      // Taken away by others while it rested, and Docker is still being asked what became of it.
      if (cell.isLost()) continue
      if (cell.key === key) return cell
      cell.kill()
    }
    return undefined
  }
  const rest = (cell: Cell): void => {
    if (isOver || resting.length >= mostAtRest) return cell.kill()
    const end = setTimeout(() => {
      if (resting.length > 1) wake(one).close()
      else one.end.refresh()
    }, longestRestMs).unref()
    const one: Resting = { cell, end }
    resting.push(one)
    cell.unref()
  }
  const offer = (cell: Cell): void => {
    const first = waiting.find(({ key }) => key === cell.key)
    if (first === undefined || isOver) return rest(cell)
    waiting = waiting.filter((other) => other !== first)
    first.take(cell)
  }
  const make = async (key: string): Promise<void> => {
    const cell = await create(key)
    all.add(cell)
    void cell.gone.then(() => {
      all.delete(cell)
      const one = resting.find((other) => other.cell === cell)
      if (one !== undefined) wake(one)
    })
    offer(cell)
  }
  const makeMore = (): void => {
    while (making.size < Math.min(mostInMaking, waiting.length)) {
      const next = waiting[making.size]
      if (next === undefined) return
      const made = make(next.key).catch((error: unknown) => {
        waiting = waiting.filter((other) => other !== next)
        next.refuse(error)
      })
      making.add(made)
      void made.finally(() => {
        making.delete(made)
        makeMore()
      })
    }
  }
  const acquire = (key: string): Promise<Cell> => {
    if (isOver) return Promise.reject(gone())
    const found = takeAtRest(key)
    if (found !== undefined) return Promise.resolve(found)
    return new Promise((take, refuse) => {
      waiting.push({ key, take, refuse })
      makeMore()
    })
  }
  const release = async (cell: Cell): Promise<void> => {
    if (await cell.isFit()) return offer(cell)
    cell.kill()
  }
  /** SECURITY: for a command with secrets: new, so that nothing lies in wait there, and ended with it.
   * test/attacks/vault: "a command after one with a secret finds nothing of it" */
  const makeOwn = async (key: string): Promise<Cell> => {
    if (isOver) throw gone()
    const made = create(key, { takesSecrets: true })
    const settled = made.then(
      (cell) => {
        all.add(cell)
        void cell.gone.then(() => all.delete(cell))
      },
      () => {},
    )
    makingOwn.add(settled)
    await settled
    makingOwn.delete(settled)
    return made
  }
  const throwAway = async (cell: Cell): Promise<void> => {
    await cell.isFit()
    cell.kill()
  }

  return {
    async run(request, key, limits) {
      const isOwn = request.secrets !== undefined
      const cell = await (isOwn ? makeOwn(key) : acquire(key))
      if (isOver) {
        cell.kill()
        throw gone()
      }
      const process = cell.run(request, limits)
      void (isOwn ? throwAway(cell) : release(cell))
      return process
    },
    names: () => [...all].map(({ name }) => name),
    prepare: async (key) => rest(await acquire(key)),
    async endAll() {
      isOver = true
      for (const one of waiting.splice(0)) one.refuse(gone())
      await Promise.all([...making, ...makingOwn])
      const ending = [...all]
      for (const one of resting) wake(one)
      for (const cell of ending) {
        if (cell.isAtWork()) cell.kill()
        else cell.close()
      }
      await Promise.all(ending.map((cell) => cell.dead))
    },
    cleared: async () => void (await Promise.all([...all].map((cell) => cell.gone))),
  }
}

const gone = (): GloveboxError =>
  new GloveboxError('SANDBOX_GONE', 'Cannot run the command: the sandbox has been killed')
