// Bytes in JSON. `Buffer.from` skips what is not base64, so the text is encoded again and compared.
import { GloveboxError } from '../../errors/error.ts'

export const toBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

export function fromBase64(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') === text) return bytes
  throw new GloveboxError('INVALID_INPUT', 'Cannot decode base64: the text is not canonical base64', {
    hint: 'Use the alphabet A–Z a–z 0–9 + / with padding, and no line breaks.',
  })
}
