import { describe, expect, it } from 'vitest'
import type { ExecResult } from '../../contract/exec.ts'
import { openCommands, type Runner } from './commands.ts'
import { openShelf, type Shelf } from './shelf.ts'

/** Ends at once and says nothing. */
const silent = {
  describe: () => ({
    policy: ['maxStdoutBytes', 'maxStderrBytes'].map((field) => ({ field, value: 1000 })),
  }),
  commands: { run: async () => ({ stdoutTotalBytes: 0, stderrTotalBytes: 0 }) as ExecResult },
} as unknown as Runner

/** A shelf of any size, and how many lie on it. */
function countedShelf() {
  const shelf = openShelf(Number.MAX_SAFE_INTEGER)
  let lying = 0
  const counted: Shelf = {
    put(bytes, remove) {
      lying++
      const takeOff = shelf.put(bytes, remove)
      return () => {
        lying--
        takeOff()
      }
    },
  }
  return { shelf: counted, lying: () => lying }
}

describe('commands of a hosted sandbox', () => {
  it('leave nothing on the shelf beyond those that can be found', async () => {
    const { shelf, lying } = countedShelf()
    const commands = openCommands(silent, shelf)
    for (let count = 0; count < 200; count++) await commands.start('true', {}).settled
    expect(commands.list()).toHaveLength(32)
    expect(lying()).toBe(32)
  })

  it('leave nothing on the shelf when their sandbox has ended, also those that end after it', async () => {
    const { shelf, lying } = countedShelf()
    let end = (_result: ExecResult): void => {}
    const last = new Promise<ExecResult>((resolve) => (end = resolve))
    let work = (): Promise<ExecResult> => silent.commands.run('true')
    const commands = openCommands({ ...silent, commands: { run: () => work() } }, shelf)
    await commands.start('true', {}).settled
    expect(lying()).toBe(1)
    work = () => last
    const running = commands.start('true', {})
    commands.forget()
    expect(lying()).toBe(0)
    end(await silent.commands.run('true'))
    await running.settled
    expect(lying()).toBe(0)
    expect(commands.list()).toEqual([])
  })
})
