import { describe, expect, it } from 'vitest'
import type { Process, SpawnRequest } from '../../contract/backend.ts'
import type { GuestPath } from '../../contract/mount.ts'
import type { Cell } from './cell.ts'
import { openCells } from './cells.ts'

const request: SpawnRequest = { argv: ['true'], cwd: '/' as GuestPath, env: {}, stdin: 'none' }

interface FakeCell extends Cell {
  readonly number: number
  isGone: boolean
  isLostNow: boolean
  runs: number
}

/** Cells that are made when they are let, and whose commands end when they are told. */
function ground({ fit = true }: { readonly fit?: boolean } = {}) {
  const made: FakeCell[] = []
  const ends: (() => void)[] = []
  const create = async (key: string): Promise<Cell> => {
    let leave = (): void => {}
    const gone = new Promise<void>((resolve) => (leave = resolve))
    const end = (cell: FakeCell): void => {
      cell.isGone = true
      leave()
    }
    let ended: Promise<boolean> = Promise.resolve(true)
    const cell: FakeCell = {
      key,
      name: `cell-${key}`,
      number: made.length,
      isGone: false,
      isLostNow: false,
      runs: 0,
      run() {
        cell.runs += 1
        let finish = (): void => {}
        ended = new Promise<boolean>((resolve) => (finish = () => resolve(fit)))
        ends.push(finish)
        return { number: cell.number } as unknown as Process
      },
      isFit: () => ended,
      isAtWork: () => false,
      isLost: () => cell.isLostNow,
      kill: () => end(cell),
      close: () => end(cell),
      dead: gone,
      gone,
      ref() {},
      unref() {},
    }
    made.push(cell)
    return cell
  }
  return { cells: openCells(create), made, ends }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('the containers of a sandbox', () => {
  it('one that was taken away while it rested is given no command', async () => {
    const { cells, made } = ground()
    await cells.prepare('one')
    for (const cell of made) cell.isLostNow = true
    await cells.run(request, 'one')
    expect(made.map(({ runs }) => runs)).toEqual([0, 1])
  })

  it('one serves command after command', async () => {
    const { cells, made, ends } = ground()
    for (let round = 0; round < 3; round += 1) {
      await cells.run(request, 'a')
      ends.pop()?.()
      await settle()
    }
    expect(made.map(({ runs }) => runs)).toEqual([3])
  })

  it('commands that run at the same time are in different ones', async () => {
    const { cells, made } = ground()
    await Promise.all([cells.run(request, 'a'), cells.run(request, 'a')])
    expect(made.map(({ runs }) => runs)).toEqual([1, 1])
  })

  it('one in which something is left is not used again', async () => {
    const { cells, made, ends } = ground({ fit: false })
    await cells.run(request, 'a')
    ends.pop()?.()
    await settle()
    await cells.run(request, 'a')
    expect(made.map(({ runs, isGone }) => ({ runs, isGone }))).toEqual([
      { runs: 1, isGone: true },
      { runs: 1, isGone: false },
    ])
  })

  it('one of another layout is ended, not used', async () => {
    const { cells, made } = ground()
    await cells.prepare('old')
    await cells.run(request, 'new')
    expect(made.map(({ key, isGone }) => [key, isGone])).toEqual([
      ['old', true],
      ['new', false],
    ])
  })

  it('many commands at once are all served, and one that ends first serves the next that waits', async () => {
    const { cells, made, ends } = ground()
    const running = Array.from({ length: 20 }, () => cells.run(request, 'a'))
    const finishing = setInterval(() => ends.splice(0).forEach((end) => end()), 1)
    await Promise.all(running)
    clearInterval(finishing)
    expect(made.reduce((sum, { runs }) => sum + runs, 0)).toBe(20)
  })

  it('the end ends all of them, and refuses what comes after', async () => {
    const { cells, made } = ground()
    await cells.run(request, 'a')
    await cells.prepare('a')
    await cells.endAll()
    expect(made.every(({ isGone }) => isGone)).toBe(true)
    await expect(cells.run(request, 'a')).rejects.toMatchObject({ code: 'SANDBOX_GONE' })
  })
})
