import { describe, expect, it, vi } from 'vitest'
import type { Cell, CellProcess } from './cell.ts'
import { openCells, type Cells, type Laid } from './cells.ts'

interface FakeCell extends Cell {
  readonly lines: string[]
  /** The keeper says that it waits; or that it never will. */
  become(ready: boolean): void
  stood: boolean
  /** What waited in it for a command was killed. */
  isDeaf: boolean
  isGone: boolean
}

interface Looking {
  /** It is looked over only when somebody asks for it. */
  readonly takesItsTime: boolean
}

function fakeCell({ takesItsTime }: Looking): FakeCell {
  let become: (ready: boolean) => void = () => {}
  let leave = (): void => {}
  let look: (() => void) | undefined
  let fitness = Promise.resolve(true)
  const cell: FakeCell = {
    lines: [],
    ready: new Promise((resolve) => (become = resolve)),
    become: (ready) => become(ready),
    stood: true,
    isDeaf: false,
    isGone: false,
    run(line) {
      cell.lines.push(line)
      const looked = takesItsTime ? new Promise<void>((resolve) => (look = resolve)) : Promise.resolve()
      fitness = looked.then(() => !cell.isGone && !cell.isDeaf)
      const stream = { resume() {} }
      return { stdout: stream, stderr: stream, begun: Promise.resolve(!cell.isDeaf) } as unknown as CellProcess
    },
    isFit: () => fitness,
    isSettling: () => look !== undefined,
    settle() {
      look?.()
      look = undefined
      return fitness
    },
    stands: () => cell.stood,
    kill() {
      cell.isGone = true
      leave()
    },
    gone: new Promise<void>((resolve) => (leave = resolve)),
    ref() {},
    unref() {},
  }
  return cell
}

const laid: Laid = { words: [], mountPoints: [] }
const nothing = 'set -- /bin/true'
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function scene(looking: Looking = { takesItsTime: false }): { readonly cells: Cells; readonly made: FakeCell[] } {
  const made: FakeCell[] = []
  const cells = openCells(async () => {
    const cell = fakeCell(looking)
    made.push(cell)
    return cell
  })
  return { cells, made }
}

async function prepared(): Promise<ReturnType<typeof scene> & { readonly first: FakeCell }> {
  const set = scene()
  const preparing = set.cells.prepare(laid)
  await settle()
  const first = set.made[0] as FakeCell
  first.become(true)
  await preparing
  return { ...set, first }
}

describe('cells that are made ahead', () => {
  it('one is tried out with a command that does nothing, and the first command gets it', async () => {
    const { cells, made, first } = await prepared()
    expect(first.lines).toEqual([nothing])
    await cells.run('echo', laid)
    expect(first.lines).toEqual([nothing, 'echo'])
    expect(made).toHaveLength(1)
  })

  it('a command that comes while one is made takes it as it is', async () => {
    const { cells, made } = scene()
    const preparing = cells.prepare(laid)
    await settle()
    await cells.run('echo', laid)
    expect(made).toHaveLength(1)
    expect(made[0]?.lines).toEqual(['echo'])
    made[0]?.become(true)
    await preparing
    expect(made[0]?.lines, 'it is not tried out any more').toEqual(['echo'])
  })

  it('one that is ready is kept, and not made twice', async () => {
    const { cells, made } = await prepared()
    await cells.prepare(laid)
    await Promise.all([cells.prepare(laid), cells.prepare(laid)])
    expect(made).toHaveLength(1)
  })

  it('one that rests after a command is kept from now on', async () => {
    const { cells, made } = scene()
    await cells.run('echo', laid)
    await settle()
    await cells.prepare(laid)
    expect(made).toHaveLength(1)
  })

  it('one that lost a mount while it waited is ended, and the command gets a new one', async () => {
    const { cells, made, first } = await prepared()
    first.stood = false
    await cells.run('echo', laid)
    expect(first.isGone).toBe(true)
    expect(made).toHaveLength(2)
  })

  it('a command that has not begun in one that rested is given to another', async () => {
    const { cells, made, first } = await prepared()
    first.isDeaf = true
    await cells.run('echo', laid)
    expect(first.lines).toEqual([nothing, 'echo'])
    expect(made[1]?.lines).toEqual(['echo'])
  })

  it('commands that come before two have been looked over have those looked over, and make none', async () => {
    const { cells, made } = scene({ takesItsTime: true })
    const runBoth = (...lines: string[]): Promise<unknown> => Promise.all(lines.map((line) => cells.run(line, laid)))
    await runBoth('one', 'two')
    expect(made.map(({ lines }) => lines)).toEqual([['one'], ['two']])
    await runBoth('three', 'four')
    await runBoth('five', 'six')
    expect(made.map(({ lines }) => lines.length)).toEqual([3, 3])
  })

  it('one of an earlier layout is not used', async () => {
    const { cells, made, first } = await prepared()
    await cells.run('echo', { words: ['other'], mountPoints: [] })
    expect(first).toMatchObject({ isGone: true, lines: [nothing] })
    expect(made[1]?.lines).toEqual(['echo'])
  })

  it('one that does not come up is told as a boundary that failed', async () => {
    const { cells, made } = scene()
    const preparing = cells.prepare(laid)
    await settle()
    made[0]?.kill()
    made[0]?.become(false)
    await expect(preparing).rejects.toMatchObject({ code: 'BOUNDARY_FAILED' })
  })

  it('one for somebody who is about to come is not tried out, and ends if nobody comes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const { cells, made } = scene()
      const preparing = cells.prepare(laid, { briefly: true })
      await settle()
      made[0]?.become(true)
      await preparing
      expect(made[0]).toMatchObject({ lines: [], isGone: false })
      vi.advanceTimersByTime(10_000)
      expect(made[0]?.isGone).toBe(true)
    } finally {
      vi.useRealTimers()
    }
  })

  it('one for somebody who is about to come is his, before and after it is ready', async () => {
    for (const isEarly of [true, false]) {
      const { cells, made } = scene()
      const preparing = cells.prepare(laid, { briefly: true })
      await settle()
      if (isEarly) await cells.run('echo', laid)
      made[0]?.become(true)
      await preparing
      if (!isEarly) await cells.run('echo', laid)
      expect(made.map(({ lines }) => lines)).toEqual([['echo']])
    }
  })

  it('one that does not come up for somebody who is about to come is ended, and his command gets a new one', async () => {
    const { cells, made } = scene()
    const preparing = cells.prepare(laid, { briefly: true })
    await settle()
    made[0]?.become(false)
    await preparing
    await cells.run('echo', laid)
    expect(made.map(({ lines, isGone }) => [lines, isGone])).toEqual([
      [[], true],
      [['echo'], false],
    ])
  })

  it('the end of all ends those that wait', async () => {
    const { cells, first } = await prepared()
    await cells.endAll()
    expect(first.isGone).toBe(true)
  })
})
