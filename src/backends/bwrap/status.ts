// bwrap tells of itself in small JSON documents on a descriptor: the pid of the first process inside as soon as there is
// one, and the exit code of the command if, and only if, the set-up succeeded and the command was started.
import type { EventEmitter } from 'node:events'

export interface Status {
  /** Host-side pid of the namespace's first process; undefined if bwrap ended without one. */
  readonly childPid: Promise<number | undefined>
  /** Undefined: the command was never started, or bwrap was killed. Settles when bwrap has closed the channel. */
  readonly exitCode: Promise<number | undefined>
}

export function readStatus(channel: EventEmitter): Status {
  let text = ''
  const found = (name: string): number | undefined => {
    const value = new RegExp(`"${name}": (\\d+)`).exec(text)?.[1]
    return value === undefined ? undefined : Number(value)
  }
  let announce: (pid: number | undefined) => void
  const childPid = new Promise<number | undefined>((resolve) => (announce = resolve))
  const exitCode = new Promise<number | undefined>((resolve) => {
    channel.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const pid = found('child-pid')
      if (pid !== undefined) announce(pid)
    })
    channel.once('close', () => {
      announce(undefined)
      resolve(found('exit-code'))
    })
    channel.on('error', () => {})
  })
  return { childPid, exitCode }
}
