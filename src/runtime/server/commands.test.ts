import { describe, expect, it } from 'vitest'
import type { ExecResult } from '../../contract/exec.ts'
import { openCommands, type Runner } from './commands.ts'
import { openOutputRoom } from './output-room.ts'
import { openShelf, type Shelf } from './shelf.ts'

/** Ends at once and says nothing. */
const silent = {
  describe: () => ({
    policy: ['maxStdoutBytes', 'maxStderrBytes'].map((field) => ({ field, value: 1000 })),
  }),
  commands: { run: async () => ({ stdoutTotalBytes: 0, stderrTotalBytes: 0 }) as ExecResult },
} as unknown as Runner

const wideRoom = () => openOutputRoom({ outputBytesPerToken: 1e9, outputBytes: 1e9 })
const mebibyte = 1024 * 1024

/** Says so much at once, as a command with the limits of policy would, and ends when it is cancelled. */
function loud(bytes: number): Runner {
  const policy = ['maxStdoutBytes', 'maxStderrBytes'].map((field) => ({ field, value: 10 * mebibyte }))
  const run: Runner['commands']['run'] = (_command, { signal, onStdout } = {}) => {
    void onStdout?.(Buffer.alloc(bytes, 'a'))
    const end = { stdoutTotalBytes: bytes, stderrTotalBytes: 0 } as ExecResult
    return new Promise((resolve) => signal?.addEventListener('abort', () => resolve(end), { once: true }))
  }
  return { describe: () => ({ policy }), commands: { run } } as unknown as Runner
}

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
    const commands = openCommands(silent, { shelf, room: wideRoom() })
    for (let count = 0; count < 200; count++) await commands.start('tok', 'true', {}).settled
    expect(commands.list()).toHaveLength(32)
    expect(lying()).toBe(32)
  })

  it('leave nothing on the shelf when their sandbox has ended, also those that end after it', async () => {
    const { shelf, lying } = countedShelf()
    let end = (_result: ExecResult): void => {}
    const last = new Promise<ExecResult>((resolve) => (end = resolve))
    let work = (): Promise<ExecResult> => silent.commands.run('true')
    const commands = openCommands({ ...silent, commands: { run: () => work() } }, { shelf, room: wideRoom() })
    await commands.start('tok', 'true', {}).settled
    expect(lying()).toBe(1)
    work = () => last
    const running = commands.start('tok', 'true', {})
    commands.forget()
    expect(lying()).toBe(0)
    end(await silent.commands.run('true'))
    await running.settled
    expect(lying()).toBe(0)
    expect(commands.list()).toEqual([])
  })

  it('have a share of memory while they run: beyond it they are cut and told so, and further ones are refused', async () => {
    const room = openOutputRoom({ outputBytesPerToken: 20 * mebibyte, outputBytes: 100 * mebibyte })
    const { shelf } = countedShelf()
    const commands = openCommands(loud(8 * mebibyte), { shelf, room })
    const [first, second, third] = Array.from({ length: 3 }, () => commands.start('tok', 'say', {}))
    expect(first?.keptBytes).toBe(8 * mebibyte)
    expect(third?.keptBytes).toBeLessThan(4 * mebibyte)
    expect(room.heldBytes).toBeLessThan(20.2 * mebibyte)
    const refused = { code: 'QUOTA_EXCEEDED', facts: { retryAfterSeconds: 1 } }
    expect(() => commands.start('tok', 'say', {})).toThrow(expect.objectContaining(refused))
    expect(commands.running).toBe(3)
    const another = commands.start('other', 'say', {})
    expect(another.keptBytes).toBe(8 * mebibyte)
    third?.cancel()
    expect(await third?.settled).toMatchObject({ stdoutTotalBytes: 8 * mebibyte, stdoutTruncated: true })
    const again = commands.start('tok', 'say', {})
    for (const each of [first, second, another, again]) each?.cancel()
    expect(await first?.settled).toMatchObject({ stdoutTotalBytes: 8 * mebibyte, stdoutTruncated: false })
    for (const each of [second, another, again]) await each?.settled
    expect(room.heldBytes).toBe(0)
  })

  it('give their share back when they end after their sandbox, and when they could not be run at all', async () => {
    const room = wideRoom()
    const { shelf } = countedShelf()
    const commands = openCommands(loud(mebibyte), { shelf, room })
    const last = commands.start('tok', 'say', {})
    commands.forget()
    expect(room.heldBytes).toBeGreaterThan(mebibyte)
    await commands.stop()
    await last.settled
    expect(room.heldBytes).toBe(0)
    const failing = { ...silent, commands: { run: () => Promise.reject(new Error('no')) } }
    const failed = openCommands(failing, { shelf, room }).start('tok', 'say', {})
    expect(room.heldBytes).toBeGreaterThan(0)
    await expect(failed.settled).rejects.toThrow('no')
    expect(room.heldBytes).toBe(0)
  })

  it('that are waited for count until their answer is taken', async () => {
    const room = openOutputRoom({ outputBytesPerToken: 4 * mebibyte, outputBytes: 100 * mebibyte })
    const { shelf, lying } = countedShelf()
    const commands = openCommands(loud(8 * mebibyte), { shelf, room })
    let take = (): void => {}
    const taken = new Promise<void>((resolve) => (take = resolve))
    const leaving = new AbortController()
    const answer = commands.run('tok', 'say', { signal: leaving.signal, taken })
    await expect(commands.run('tok', 'say', { taken })).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    leaving.abort()
    const { stdout, stdoutTruncated } = await answer
    expect([stdout.length < 4 * mebibyte, stdout.length > mebibyte, stdoutTruncated]).toEqual([true, true, true])
    expect(room.heldBytes).toBeGreaterThan(stdout.length)
    take()
    await taken
    await expect.poll(() => room.heldBytes).toBe(0)
    expect([commands.list(), lying(), commands.running]).toEqual([[], 0, 0])
  })

  it('that are waited for are run in a sandbox that can say what its limits are only when it is open', async () => {
    const { describe: open, commands: runs } = loud(100)
    let isOpen = false
    const resting = {
      describe: () => (isOpen ? open() : { policy: [] }),
      commands: {
        run: async (...asked: Parameters<Runner['commands']['run']>) => {
          await Promise.resolve()
          isOpen = true
          return runs.run(...asked)
        },
      },
    } as Runner
    const leaving = new AbortController()
    const options = { signal: leaving.signal, taken: Promise.resolve() }
    const answer = openCommands(resting, { ...countedShelf(), room: wideRoom() }).run('tok', 'say', options)
    await expect.poll(() => isOpen).toBe(true)
    leaving.abort()
    expect((await answer).stdout).toBe('a'.repeat(100))
  })

  it('hold nothing where the sandbox cannot say what its limits are', () => {
    const room = wideRoom()
    const { shelf } = countedShelf()
    const commands = openCommands({ ...silent, describe: () => ({ policy: [] }) } as unknown as Runner, { shelf, room })
    expect(() => commands.start('tok', 'say', {})).toThrow('maxStdoutBytes')
    expect(room.heldBytes).toBe(0)
  })
})
