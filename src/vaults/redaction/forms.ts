// The forms in which a value is looked for. Programs print a secret as it is, in base64 (alone, or behind a user name, which
// shifts it), in hex, in JSON, or in a URL; the last is undone by whoever reads the stream (symbols.ts), whatever was escaped.
import { strippedSymbols } from './symbols.ts'

/** Below this, a value would be found in everything: it is refused before it is handed out. */
export const leastBytes = 8

const hasMeaning = (bytes: Uint8Array): boolean => bytes.length >= leastBytes

/** Each once, as symbols. */
export function formsOf(value: Uint8Array): readonly Uint8Array[] {
  const whole = withoutTrailingBreaks(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
  const forms = [whole, ...linesOf(whole)].filter(hasMeaning)
  const texts = [
    ...new Set([...base64Forms(whole), ...base64Forms(Buffer.from(value)), ...hexForms(whole), ...quotedForms(whole)]),
  ]
  const all = [...forms, ...texts.map((text) => Buffer.from(text, 'latin1'))]
  const symbols = all.flatMap((bytes) => [withoutBreaks(bytes), strippedSymbols(bytes)])
  return [
    ...new Map(symbols.filter(hasMeaning).map((bytes) => [Buffer.from(bytes).toString('latin1'), bytes])).values(),
  ]
}

export function withoutTrailingBreaks(bytes: Buffer): Buffer {
  let end = bytes.length
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end -= 1
  return bytes.subarray(0, end)
}

const withoutBreaks = (bytes: Uint8Array): Uint8Array => bytes.filter((byte) => byte !== 0x0a && byte !== 0x0d)

/** Of a key in several lines, each tells a part. Its head and foot are the same for all keys. */
function linesOf(value: Buffer): readonly Buffer[] {
  if (!value.includes(0x0a)) return []
  const lines = value.toString('latin1').split(/[\r\n]+/)
  return lines
    .map((line) => line.trim())
    .filter((line) => !/^-----.*-----$/.test(line))
    .map((line) => Buffer.from(line, 'latin1'))
}

/**
 * Base64 speaks of three bytes at a time, so that a value looks different behind one, two or no bytes of something else. What
 * does not depend on the neighbours is looked for; and at the end, the last character with its padding and without.
 */
function base64Forms(value: Buffer): readonly string[] {
  if (value.length < leastBytes) return []
  const standard = [0, 1, 2].flatMap((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), value]).toString('base64')
    const open = encoded.replace(/=+$/, '')
    const first = [0, 2, 3][shift] ?? 0
    // The last character of an open end has bits of what follows in it.
    const certain = (shift + value.length) % 3 === 0 ? open : open.slice(0, -1)
    return [certain.slice(first), open.slice(first), encoded.slice(first)]
  })
  return standard.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')])
}

function hexForms(value: Buffer): readonly string[] {
  const hex = value.toString('hex')
  return [hex, hex.toUpperCase()]
}

/** As JSON writes it, with slashes escaped and not; and a form's spaces. */
function quotedForms(value: Buffer): readonly string[] {
  const inJson = Buffer.from(JSON.stringify(value.toString('utf8')).slice(1, -1), 'utf8').toString('latin1')
  const plain = value.toString('latin1')
  return [inJson, inJson.replaceAll('/', '\\/'), plain.replaceAll('/', '\\/'), plain.replaceAll(' ', '+')]
}
