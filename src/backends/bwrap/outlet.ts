// One output of a cell, handed to one command after another. The pipe stays open between them, so a command's share ends not
// with the end of the pipe but when the keeper has reported its end and the pipe is empty: nobody is left who could write.
import { Readable } from 'node:stream'
import { borrow, handOn, makeLender } from '../../process/lending.ts'
import type { Asking } from '../../process/asking.ts'

export interface Outlet {
  /** Does ahead what the next `begin` would have to. */
  prepare(): void
  /** What is written from now on. */
  begin(): Readable
  /** Nobody writes any more. Settles when the command's share has been handed on whole. */
  finish(): Promise<void>
}

export function openOutlet(pipe: Readable, descriptor: number, { countUnread }: Pick<Asking, 'countUnread'>): Outlet {
  let share: Readable | undefined
  let prepared: Readable | undefined
  let whole: (() => void) | undefined

  const end = (): void => {
    share?.push(null)
    share = undefined
    whole?.()
    whole = undefined
  }
  const endIfEmpty = (): void => {
    if (whole === undefined) return
    if (pipe.destroyed || (pipe.readableLength === 0 && countUnread(descriptor) === 0)) end()
  }
  const take = (chunk: Uint8Array): boolean => {
    const goesOn = share === undefined || handOn(share, chunk)
    if (!goesOn) pipe.pause()
    endIfEmpty()
    return goesOn
  }
  const goOn = (): void => void pipe.resume()
  const newShare = (): Readable => {
    const made = new Readable({ read: goOn }).on('resume', goOn)
    makeLender(made)
    return made
  }
  borrow(pipe, take)
  pipe.on('data', take)
  // The cell is gone.
  pipe.once('close', end)
  pipe.on('error', () => {})

  return {
    prepare() {
      prepared ??= newShare()
    },
    begin() {
      share = prepared ?? newShare()
      prepared = undefined
      if (pipe.destroyed) end()
      return share ?? Readable.from([])
    },
    finish: () =>
      new Promise((resolve) => {
        if (share === undefined) return resolve()
        whole = resolve
        endIfEmpty()
      }),
  }
}
