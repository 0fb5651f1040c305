// Two streams of bytes laid beside each other.
import type { Place } from './report.ts'

const blockBytes = 64 * 1024
const shownBefore = 24
const shownAfter = 32

/** Undefined when they are the same. Where one is the beginning of the other, its end is the first difference. */
export function firstDifference(original: Uint8Array, replayed: Uint8Array): number | undefined {
  const [one, other] = [asBuffer(original), asBuffer(replayed)]
  const common = Math.min(one.length, other.length)
  for (let from = 0; from < common; from += blockBytes) {
    const to = Math.min(common, from + blockBytes)
    if (one.compare(other, from, to, from, to) === 0) continue
    for (let at = from; at < to; at++) if (one[at] !== other[at]) return at
  }
  return one.length === other.length ? undefined : common
}

export function placeAt(offset: number, original: Uint8Array, replayed: Uint8Array): Place {
  return {
    offset,
    before: escaped(original.subarray(Math.max(0, offset - shownBefore), offset)),
    original: escaped(original.subarray(offset, offset + shownAfter)),
    replayed: escaped(replayed.subarray(offset, offset + shownAfter)),
  }
}

const names: Readonly<Record<number, string>> = { 9: '\\t', 10: '\\n', 13: '\\r', 92: '\\\\' }

/** ASCII that prints, as it is; every other byte escaped, so that what is shown stands for one text of bytes only. */
export function escaped(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) {
    const isPlain = byte >= 0x20 && byte < 0x7f && byte !== 92
    text += isPlain ? String.fromCharCode(byte) : (names[byte] ?? `\\x${byte.toString(16).padStart(2, '0')}`)
  }
  return text
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
