// What a shell says on a terminal before the command takes it over: whole lines, which are ours; and then the rest, which is the
// command's, byte for byte and at once. On a terminal somebody waits for every letter, so nothing is held back to be looked at.
import { Readable } from 'node:stream'

export interface Preface {
  /** The next line without its end; undefined when no more comes. */
  line(): Promise<string | undefined>
  /** What comes once the lines are over. */
  readonly rest: Readable
  /** The lines are over. Where the rest is not wanted, it is read and forgotten. */
  end(options: { readonly keepsRest: boolean }): void
}

/** More than a preface has; beyond it somebody else is speaking. */
const longestPreface = 64 * 1024

export function openPreface(source: Readable): Preface {
  let held = Buffer.alloc(0)
  let isOver = false
  let isRest = false
  let isWanted = true
  let wake = (): void => {}

  const rest = new Readable({
    read() {
      if (isRest) source.resume()
    },
    destroy(error, done) {
      source.destroy()
      done(error)
    },
  })
  source.on('data', (chunk: Buffer) => {
    if (isRest) {
      if (isWanted && !rest.push(chunk)) source.pause()
      return
    }
    held = Buffer.concat([held, chunk])
    if (held.length > longestPreface) source.pause()
    wake()
  })
  source.on('error', () => {})
  source.once('close', () => {
    isOver = true
    if (isRest) rest.push(null)
    wake()
  })

  return {
    rest,
    async line() {
      for (;;) {
        const end = held.indexOf(0x0a)
        if (end >= 0) {
          const text = held.toString('utf8', 0, end).trim()
          held = Buffer.from(held.subarray(end + 1))
          return text
        }
        if (isOver || held.length > longestPreface) return undefined
        await new Promise<void>((resolve) => (wake = resolve))
      }
    },
    end({ keepsRest }) {
      isRest = true
      isWanted = keepsRest
      if (held.length > 0 && keepsRest) rest.push(held)
      held = Buffer.alloc(0)
      if (isOver) rest.push(null)
      else source.resume()
    },
  }
}
