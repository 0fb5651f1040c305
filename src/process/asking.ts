// What the kernel tells of a descriptor, for the price of one call. Node has neither of them; koffi has.
import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import { findKoffi, type Koffi } from './koffi.ts'

export interface Asking {
  /** How many bytes of a pipe nobody has read yet. */
  countUnread(descriptor: number): number
  /** Of an open list of mounts: whether any was added, removed or moved since it was opened, or since this was last asked. */
  hasChanged(mountinfo: number): boolean
}

const askForUnread = 0x541b
const [onPriority, onError] = [0x002, 0x008]

/** Undefined where koffi is not installed. */
export function loadAsking(): Asking | undefined {
  const koffi = findKoffi()
  if (koffi === undefined) return undefined
  const libc = koffi.load(null)
  const ioctl = libc.func('int ioctl(int descriptor, unsigned long request, _Out_ int *count)')
  const poll = libc.func('int poll(void *polled, unsigned long count, int forMs)')
  const polled = Buffer.alloc(8)
  return {
    countUnread(descriptor) {
      const count: number[] = [0]
      if (ioctl(descriptor, askForUnread, count) !== 0) throw failed(koffi)
      return count[0] as number
    },
    hasChanged(mountinfo) {
      polled.writeInt32LE(mountinfo, 0)
      polled.writeInt16LE(onPriority, 4)
      polled.writeInt16LE(0, 6)
      if (poll(polled, 1, 0) < 0) {
        // A signal came in between. Nothing is known then, so it is looked at.
        if (koffi.errno() === constants.errno.EINTR) return true
        throw failed(koffi)
      }
      return (polled.readInt16LE(6) & (onPriority | onError)) !== 0
    },
  }
}

function failed(koffi: Koffi): Error {
  const code = getSystemErrorName(-koffi.errno())
  return Object.assign(new Error(`${code}: a descriptor could not be asked about`), { code })
}
