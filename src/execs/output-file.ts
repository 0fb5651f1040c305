// One output of an exec on disk: the first bytes up to the limit. What is beyond is drained and counted, and the command is
// neither held back nor ended for it. Readers follow the file, so that a slow one costs nobody anything.
import { closeSync, constants, openSync } from 'node:fs'
import { syncFile, writeAll } from '../paths/content.ts'
import { statsOf } from '../paths/descriptor.ts'

export interface OutputFile {
  readonly truncated: boolean
  /** Bytes that the command wrote, kept or not. */
  readonly totalBytes: number
  /** The chunk is not used after this has returned. */
  add(chunk: Uint8Array): void | Promise<void>
  sync(): Promise<void>
  close(): void
}

export interface OutputOptions {
  readonly limitBytes: number
  /** Called when there is more to read. */
  readonly onGrown: () => void
  /** Whoever wrote it before had more than was kept: the file itself, as long as its limit, does not tell. */
  readonly wasCut?: boolean
  /** Called once, with the first byte that is not kept. */
  readonly onCut?: () => void
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants

/** Goes on behind what is there already. */
export function openOutput(path: string, options: OutputOptions): OutputFile {
  const { limitBytes, onGrown, wasCut = false, onCut = () => {} } = options
  const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o644)
  let totalBytes = Number(statsOf(fd).size)
  let isCut = wasCut || totalBytes > limitBytes
  return {
    get truncated() {
      return isCut
    },
    get totalBytes() {
      return totalBytes
    },
    add(chunk) {
      const room = limitBytes - totalBytes
      totalBytes += chunk.length
      if (!isCut && totalBytes > limitBytes) {
        isCut = true
        onCut()
      }
      if (room <= 0) return undefined
      // A copy: the chunk may be lent, and is written behind this call.
      return writeAll(fd, Buffer.from(chunk.subarray(0, room))).then(onGrown)
    },
    sync: () => syncFile(fd),
    close: () => closeSync(fd),
  }
}
