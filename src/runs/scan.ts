// Reads a log from its beginning as far as it can be trusted, and says what stands behind that point: nothing, a torn
// tail, or damage. A tear is what a crash can leave at the end: half a line, NUL bytes (ext4 may show an unsynced tail
// so, at full length), or garbage. Anything behind which a true event stands, or that is still recognisable as a whole
// line with a wrong byte in it, did not come from a crash.
import { open } from 'node:fs/promises'
import { firstPrevHash, maxEventBytes, type RunEvent } from '../contract/event.ts'
import type { RunRecord } from '../contract/run.ts'
import { isGloveboxError } from '../errors/error.ts'
import { decodeLine, follows, sealFor, sealLength, sealOf, type Head } from './chain.ts'
import { apply } from './machine.ts'

export interface Scan {
  readonly record: RunRecord | undefined
  readonly head: Head
  /** Where the trustworthy part ends. */
  readonly goodBytes: number
  readonly totalBytes: number
  /** What stands between `goodBytes` and `totalBytes`. */
  readonly rest: 'none' | 'torn' | 'damaged'
  /** Why it is damaged. */
  readonly damage: string | undefined
}

const lineBreak = 10
const chunkBytes = 256 * 1024
const start: Head = { seq: 0, hash: firstPrevHash }

export interface ScanOptions {
  /** Called for every event of the trustworthy part, in order. */
  readonly onEvent?: (event: RunEvent) => void
}

export async function scanLog(path: string, { onEvent }: ScanOptions = {}): Promise<Scan> {
  const scanner = new Scanner(onEvent ?? (() => {}))
  const file = await open(path, 'r')
  try {
    for (let position = 0; ;) {
      const chunk = Buffer.allocUnsafe(chunkBytes)
      const { bytesRead } = await file.read(chunk, 0, chunk.length, position)
      if (bytesRead === 0) return scanner.end()
      position += bytesRead
      scanner.push(chunk.subarray(0, bytesRead))
    }
  } finally {
    await file.close()
  }
}

class Scanner {
  readonly #onEvent: (event: RunEvent) => void
  #record: RunRecord | undefined
  #head = start
  #good = 0
  #total = 0
  #damage: string | undefined
  #isTrusted = true
  /** Bytes of a line whose break has not come yet. Beyond the longest event only the length matters. */
  #partial: Buffer = Buffer.alloc(0)

  constructor(onEvent: (event: RunEvent) => void) {
    this.#onEvent = onEvent
  }

  push(chunk: Buffer): void {
    this.#total += chunk.length
    let from = 0
    for (let at = chunk.indexOf(lineBreak); at >= 0; at = chunk.indexOf(lineBreak, from)) {
      this.#line(Buffer.concat([this.#partial, chunk.subarray(from, at)]))
      this.#partial = Buffer.alloc(0)
      from = at + 1
    }
    // Twice the longest event: enough to know that it is none, and bounded however long the garbage is.
    this.#partial = Buffer.concat([this.#partial, chunk.subarray(from)]).subarray(0, 2 * maxEventBytes)
  }

  end(): Scan {
    if (this.#partial.length > 0) this.#unfinished(this.#partial)
    const rest = this.#damage !== undefined ? 'damaged' : this.#good < this.#total ? 'torn' : 'none'
    return {
      record: this.#record,
      head: this.#head,
      goodBytes: this.#good,
      totalBytes: this.#total,
      rest,
      damage: this.#damage,
    }
  }

  #line(line: Buffer): void {
    const event = decodeLine(line)
    if (!this.#isTrusted) {
      if (event !== undefined || sealOf(line) !== undefined)
        this.#damage ??= `behind event ${this.#head.seq} stand lines that do not follow it`
      return
    }
    if (event === undefined)
      return this.#distrust(
        this.#looksWritten(line) ? `the line behind event ${this.#head.seq} has been changed` : undefined,
      )
    const wrong = this.#whyNot(event)
    if (wrong !== undefined) return this.#distrust(wrong)
    this.#head = { seq: event.seq, hash: event.hash }
    this.#good += line.length + 1
    this.#onEvent(event)
  }

  #whyNot(event: RunEvent): string | undefined {
    if (!follows(this.#head, event)) return `the line behind event ${this.#head.seq} does not follow it`
    try {
      this.#record = apply(this.#record, event)
      return undefined
    } catch (error) {
      if (!isGloveboxError(error)) throw error
      return `event ${event.seq} is not allowed: ${error.message}`
    }
  }

  #distrust(damage: string | undefined): void {
    this.#isTrusted = false
    this.#damage ??= damage
  }

  /** A whole line with a wrong bit keeps its end; or else all before it, and then the end can be told from that. */
  #looksWritten(line: Buffer): boolean {
    if (sealOf(line) !== undefined) return true
    const body = line.subarray(0, Math.max(0, line.length - sealLength))
    if (!body.toString('latin1').endsWith(`"prev_hash":"${this.#head.hash}"`)) return false
    const seal = Buffer.from(sealFor(body))
    return seal.filter((byte, index) => byte !== line[body.length + index]).length <= 1
  }

  /** Half a line is a tear. A whole one whose break became another byte by one bit is not. */
  #unfinished(rest: Buffer): void {
    if (!this.#isTrusted) {
      if (decodeLine(rest) !== undefined)
        this.#damage ??= `behind event ${this.#head.seq} stand lines that do not follow it`
      return
    }
    const last = rest.at(-1) ?? 0
    const isOneBitOff = [0, 1, 2, 3, 4, 5, 6, 7].some((bit) => (last ^ (1 << bit)) === lineBreak)
    if (isOneBitOff && decodeLine(rest.subarray(0, -1)) !== undefined) {
      this.#distrust(`the line break behind event ${this.#head.seq + 1} has been changed`)
    }
  }
}
