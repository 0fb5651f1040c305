// Text is strict UTF-8 without NUL. Anything else is reported, never mangled: what is read can be written back
// byte for byte, a byte order mark and carriage returns included.
import { createHash } from 'node:crypto'
import type { GuestPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'

export const encodeText = (text: string): Uint8Array => new TextEncoder().encode(text)

export const sha256Hex = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

export function decodeText(bytes: Uint8Array, path: GuestPath): string {
  if (bytes.includes(0)) throw notText(path, 'it holds NUL bytes')
  try {
    // `ignoreBOM: true` means that the mark is kept in the text.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw notText(path, 'it is not UTF-8')
  }
}

const notText = (path: GuestPath, cause: string): GloveboxError =>
  new GloveboxError('NOT_TEXT', `Cannot read ${path} as text: ${cause}`, {
    hint: 'Read it with read_bytes, or look at it with a command such as `od -c`.',
  })

/** The longest end that does not stop inside a character. At most three bytes are given up. */
export function wholeCharactersEnd(bytes: Uint8Array, end: number): number {
  for (let start = end - 1; start >= 0 && start >= end - 4; start--) {
    const byte = bytes[start] ?? 0
    if (isContinuation(byte)) continue
    return start + characterLength(byte) > end ? start : end
  }
  return end
}

/** The first position from `start` that does not lie inside a character. */
export function wholeCharactersStart(bytes: Uint8Array, start: number): number {
  let position = start
  while (position < start + 3 && isContinuation(bytes[position] ?? 0)) position++
  return position
}

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80

function characterLength(lead: number): number {
  if (lead >= 0xf0) return 4
  if (lead >= 0xe0) return 3
  return lead >= 0xc0 ? 2 : 1
}
