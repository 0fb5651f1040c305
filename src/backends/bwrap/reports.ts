// What the keeper of a cell and its child say, line by line: `ready`, `begun`, `nowhere` or `unlimited`, the exit code of a command, `clean`.
import type { Readable } from 'node:stream'

export interface Reports {
  /** Undefined: nothing more will come. */
  next(): Promise<string | undefined>
}

export function readReports(channel: Readable | null): Reports {
  const lines: string[] = []
  let rest = ''
  let isOver = channel === null
  let wake: (() => void) | undefined
  channel?.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString('latin1')).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
    wake?.()
  })
  channel?.on('error', () => {})
  channel?.once('close', () => {
    isOver = true
    wake?.()
  })
  return {
    async next() {
      while (lines.length === 0 && !isOver) await new Promise<void>((resolve) => (wake = resolve))
      return lines.shift()?.replace(/^exit /, '')
    },
  }
}
