// The history of a terminal and its screen, kept together: every byte that the history lets go of has been drawn before. As long
// as nothing was let go, the screen can be drawn from the beginning whenever it is asked for, and no thread is kept for it.
import { setTimeout as delay } from 'node:timers/promises'
import type { TerminalScreen } from '../../contract/shell.ts'
import type { TerminalSize } from '../../contract/terminal.ts'
import { createHistory, type History } from './history.ts'
import { openScreen, type Screen } from './screen.ts'

export interface Display {
  readonly history: Pick<History, 'first' | 'end' | 'slice'>
  readonly size: TerminalSize
  /** Settles when more may come. */
  append(bytes: Uint8Array): Promise<void>
  resize(size: TerminalSize): void
  screen(): Promise<TerminalScreen>
  close(): void
}

export interface DisplayOptions {
  readonly size: TerminalSize
  readonly capacity?: number
}

const customaryCapacity = 256 * 1024
const pieceBytes = 32 * 1024
const mostResizes = 64
/** Who looks once often looks again. */
const idleMs = 5000
/** Brings any terminal into the state that it has when it is new. */
const reset = '\u001bc'

export function openDisplay({ size: firstSize, capacity = customaryCapacity }: DisplayOptions): Display {
  const history = createHistory(capacity)
  let size = firstSize
  /** All of them, for as long as the screen can be drawn from the beginning. */
  const resizes: { readonly offset: number; readonly size: TerminalSize }[] = []
  let applied = 0
  /** It can still be drawn from the first byte and the first size on. */
  let isWhole = true
  let screen: Screen | undefined
  let drawn = 0
  let isLost = false
  let idle: NodeJS.Timeout | undefined
  let turn: Promise<unknown> = Promise.resolve()

  /** One after another: what is drawn has an order. */
  const inTurn = <Value>(work: () => Promise<Value>): Promise<Value> => {
    const done = turn.then(work)
    turn = done.catch(() => {})
    return done
  }
  const applyResizes = (to: Screen): void => {
    for (let due = resizes[applied]; due !== undefined && due.offset <= drawn; due = resizes[applied]) {
      to.resize(due.size)
      applied += 1
    }
    if (isWhole && history.first === 0 && resizes.length <= mostResizes) return
    isWhole = false
    resizes.splice(0, applied)
    applied = 0
  }
  const catchUp = async (until: number): Promise<void> => {
    if (isLost) return
    screen ??= openScreen(firstSize)
    while (!isLost && drawn < until) {
      applyResizes(screen)
      const next = Math.min(until, resizes[applied]?.offset ?? until)
      const piece = history.slice(drawn, Math.min(next - drawn, pieceBytes))
      if (await screen.write(piece)) drawn += piece.length
      else isLost = true
    }
    applyResizes(screen)
  }
  /** Drawing takes longer than writing. As long a pause leaves the machine to others, and the guest waits. */
  const drawInPeace = async (): Promise<void> => {
    const begun = performance.now()
    await inTurn(() => catchUp(history.end))
    await delay(performance.now() - begun)
  }

  const draw = async (): Promise<TerminalScreen> => {
    clearTimeout(idle)
    await catchUp(history.end)
    const text = await screen?.draw()
    idle = setTimeout(() => void inTurn(rest), idleMs).unref()
    if (text !== undefined) return { offset: drawn, size, bytes: Buffer.from(text) }
    isLost = true
    const kept = history.slice(history.first, history.capacity)
    return { offset: history.end, size, bytes: Buffer.concat([Buffer.from(reset), kept]) }
  }
  /** Where nothing was let go of, it can be drawn anew when somebody asks again. */
  const rest = async (): Promise<void> => {
    if (isLost || !isWhole || history.first > 0) return
    screen?.close()
    screen = undefined
    drawn = 0
    applied = 0
  }

  return {
    history,
    get size() {
      return size
    },
    async append(bytes) {
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        const piece = bytes.subarray(at, at + pieceBytes)
        if (!isLost && history.end + piece.length - drawn > capacity) await drawInPeace()
        history.append(piece)
      }
    },
    resize(to) {
      size = to
      resizes.push({ offset: history.end, size: to })
      if (resizes.length > mostResizes) void inTurn(() => catchUp(history.end))
    },
    screen: () => inTurn(draw),
    close() {
      clearTimeout(idle)
      isLost = true
      screen?.close()
    },
  }
}
