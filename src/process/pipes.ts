// Real pipes for a child's standard streams. Node gives a child sockets, and a socket cannot be opened again by name, so
// `echo >/dev/stdout` or `tee /dev/stderr` would fail in the child. Node has no call that makes a pipe; koffi has.
import { Socket } from 'node:net'
import { findKoffi } from './koffi.ts'
import { handOn, makeLender } from './lending.ts'
import { getSystemErrorName } from 'node:util'

/** Read end, write end; both close-on-exec. */
export type MakePipe = () => readonly [number, number]

/** Undefined where koffi is not installed: children then get sockets, which is a matter of comfort only. */
export function loadPipes(): MakePipe | undefined {
  const koffi = findKoffi()
  if (koffi === undefined) return undefined
  const pipe2 = koffi.load(null).func('int pipe2(_Out_ int *ends, int flags)')
  return () => {
    const ends: number[] = [0, 0]
    if (pipe2(ends, 0o2000000) !== 0) throw failed(koffi.errno())
    return [ends[0] as number, ends[1] as number]
  }
}

function failed(errno: number): Error {
  const code = getSystemErrorName(-errno)
  return Object.assign(new Error(`${code}: a pipe could not be made`), { code })
}

/** What Node asks of a pipe at a time. */
const lent = Buffer.allocUnsafeSlow(65_536)

export function readEnd(descriptor: number): Socket {
  const callback = (length: number): boolean => handOn(pipe, lent.subarray(0, length))
  // Documented for `connect` alone, and taken here as well.
  const options = { fd: descriptor, readable: true, writable: false, onread: { buffer: lent, callback } }
  const pipe = new Socket(options)
  makeLender(pipe)
  return pipe
}

export const writeEnd = (descriptor: number): Socket => new Socket({ fd: descriptor, readable: false, writable: true })
