// A person at a terminal, as a test can be one: what is on the screen is read off a terminal without a display, which draws the
// bytes that came, and keys are typed.
import { createRequire } from 'node:module'
import type { Terminal as Headless } from '@xterm/headless'
import type { Terminal, TerminalChunk } from '../../src/contract/shell.ts'
import type { TerminalSize } from '../../src/contract/terminal.ts'

const { Terminal: HeadlessTerminal } = createRequire(import.meta.url)(
  '@xterm/headless',
) as typeof import('@xterm/headless')

export interface Viewer {
  /** Lines of the screen, without blanks at their ends. */
  lines(): readonly string[]
  text(): string
  draw(bytes: Uint8Array): Promise<void>
  resize(size: TerminalSize): void
  /** Settles when it holds; throws with the screen when it does not come to hold. */
  until(what: string, holds: (screen: string) => boolean, timeoutMs?: number): Promise<void>
}

export function openViewer(size: TerminalSize): Viewer {
  const terminal: Headless = new HeadlessTerminal({ ...size, allowProposedApi: true, scrollback: 0 })
  const lines = (): readonly string[] => {
    const { active } = terminal.buffer
    return Array.from(
      { length: terminal.rows },
      (_, row) => active.getLine(active.viewportY + row)?.translateToString(true) ?? '',
    )
  }
  const text = (): string => lines().join('\n').trimEnd()
  return {
    lines,
    text,
    draw: (bytes) => new Promise((resolve) => terminal.write(bytes, resolve)),
    resize: ({ cols, rows }) => terminal.resize(cols, rows),
    async until(what, holds, timeoutMs = 40_000) {
      const giveUpAt = performance.now() + timeoutMs
      while (!holds(text())) {
        if (performance.now() > giveUpAt) throw new Error(`not within ${timeoutMs} ms: ${what}\n${text()}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
  }
}

/** Draws what is read from now on, to the end. */
export async function follow(viewer: Viewer, chunks: AsyncIterable<TerminalChunk>): Promise<void> {
  for await (const { bytes, redraws } of chunks) {
    if (redraws === true) await viewer.draw(Buffer.from('\u001bc'))
    await viewer.draw(bytes)
  }
}

/** What somebody sees who comes back: the screen as it stands, drawn on an empty terminal. */
export async function comeBack(terminal: Terminal): Promise<Viewer> {
  const { size, bytes } = await terminal.screen()
  const viewer = openViewer(size)
  await viewer.draw(bytes)
  return viewer
}
