// Where a path begins and ends inside running text, decided on bytes. Text has no grammar that says this for certain;
// these rules lean towards rewriting where a wrong guess is harmless and away from it where the text names another path.

const code = (text: string): number => text.charCodeAt(0)
const slash = code('/')
const dot = code('.')
const colon = code(':')
const backslash = code('\\')
const backtick = code('`')
const quotes = new Set(['"', "'"].map(code))
/** After these a shell word goes on: `${X}/a`, `$(x)/a`, `*` before a slash. */
const wordGoesOn = new Set(['}', ')', ']', '*', '?'].map(code))

/** No name of a file is longer, so nothing farther back can matter. */
export const lookBehindBytes = 256

const nameBytes = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x80 || /[A-Za-z0-9_\-+~@%]/.test(String.fromCharCode(byte)) ? 1 : 0,
)
const isName = (byte: number | undefined): boolean => byte !== undefined && nameBytes[byte] === 1
const isWord = (byte: number | undefined): boolean => isName(byte) || byte === dot

/** `deep`: only for a root of two or more names, since the text could as well be a relative path. */
export type Start = 'yes' | 'no' | 'deep'
export type StartRule = (bytes: Uint8Array, at: number) => Start

/** May a virtual path start at `at` in a command, an argument or a value of the environment? */
export const startsInCommand: StartRule = (bytes, at) => {
  const before = bytes[at - 1]
  if (before === undefined) return 'yes'
  if (before === slash) return afterSlashes(bytes, at, startsInCommand)
  if (isWord(before)) return isFlagOrEscape(bytes, at) ? 'yes' : 'no'
  if (wordGoesOn.has(before)) return 'no'
  if (before === backtick) return isWord(bytes[at - 2]) || wordGoesOn.has(bytes[at - 2] ?? 0) ? 'no' : 'yes'
  if (quotes.has(before)) return opensQuote(bytes, at - 1) ? 'yes' : 'no'
  return 'yes'
}

/** May a host path start at `at` in what a command printed? */
export const startsInOutput: StartRule = (bytes, at) => {
  const before = bytes[at - 1]
  if (before === undefined) return 'yes'
  if (before === slash) return afterSlashes(bytes, at, startsInOutput)
  if (!isWord(before)) return 'yes'
  if (isFlagOrEscape(bytes, at) || endsSymbol(bytes, at) || endsColour(bytes, at)) return 'yes'
  // git names the two sides of a difference by a letter before the path, also where the path is absolute.
  return isLetterAlone(bytes, at) ? 'deep' : 'no'
}

/** Does a path end at `at`? `unknown`: more bytes are needed. `final`: there will be none. */
export function endsAt(bytes: Uint8Array, at: number, final: boolean): 'yes' | 'no' | 'unknown' {
  const next = bytes[at]
  if (next === undefined) return final ? 'yes' : 'unknown'
  if (next === slash) return 'yes'
  if (next !== dot && next < 0x80) return isName(next) ? 'no' : 'yes'
  const second = bytes[at + 1]
  if (second === undefined) return final ? 'yes' : 'unknown'
  // A full stop ends a sentence; `.bak` goes on with the name.
  if (next === dot) return isName(second) ? 'no' : 'yes'
  return startsSymbol(next, second) || next < 0xc2 || next > 0xf4 ? 'yes' : 'no'
}

function afterSlashes(bytes: Uint8Array, at: number, rule: StartRule): Start {
  const floor = Math.max(0, at - lookBehindBytes)
  let first = at
  while (first > floor && bytes[first - 1] === slash) first -= 1
  // `http://workspace/x` names a machine; only `file://` is followed by a path.
  if (bytes[first - 1] === colon) return at - first === 2 && textBefore(bytes, first, 5) === 'file:' ? 'yes' : 'no'
  return rule(bytes, first)
}

function wordStart(bytes: Uint8Array, end: number): number {
  const floor = Math.max(0, end - lookBehindBytes)
  let start = end
  while (start > floor && isWord(bytes[start - 1])) start -= 1
  return start
}

/** `-I/workspace/include`, `@/workspace/body` and `\n/workspace`: the word before belongs to something else. */
function isFlagOrEscape(bytes: Uint8Array, at: number): boolean {
  const start = wordStart(bytes, at)
  const before = bytes[start - 1]
  if (before === backslash) return at - start === 1 && /[abefnrtv0]/.test(textBefore(bytes, at, 1))
  return before !== slash && at - start <= 16 && /^(?:-[A-Za-z]+@?|@)$/.test(textBefore(bytes, at, at - start))
}

function isLetterAlone(bytes: Uint8Array, at: number): boolean {
  return wordStart(bytes, at) === at - 1 && bytes[at - 2] !== slash && /[abciow]/.test(textBefore(bytes, at, 1))
}

/** A quote opens where no word runs into it, save for a flag (`-I"/a"`) and the prefix of a string (`f"/a"`). */
function opensQuote(bytes: Uint8Array, quote: number): boolean {
  const before = bytes[quote - 1]
  if (before === undefined) return true
  if (wordGoesOn.has(before)) return false
  if (!isWord(before)) return true
  const start = wordStart(bytes, quote)
  if (bytes[start - 1] === slash || bytes[start - 1] === code('$')) return false
  return quote - start <= 16 && /^(?:-[A-Za-z]+|[fFrRbBuU]{1,2})$/.test(textBefore(bytes, quote, quote - start))
}

const escapeCharacter = String.fromCharCode(0x1b)
const colourSequence = new RegExp(`(?:${escapeCharacter}|\\\\(?:e|x1[bB]|u001[bB]|033))\\[[\\d;:?]*[A-Za-z]$`)

/** A terminal's colour sequence ends in a letter that is no part of a name; logs carry it spelt out. */
const endsColour = (bytes: Uint8Array, at: number): boolean => colourSequence.test(textBefore(bytes, at, 40))

/** Punctuation, arrows, frames, and pictures: tools quote paths with ‘ ’ and lead to them with → or ├──. */
function startsSymbol(first: number, second: number): boolean {
  if (first === 0xe2) return second <= 0xaf
  return (
    first === 0xc2 ||
    (first === 0xe3 && second === 0x80) ||
    (first === 0xef && second === 0xbc) ||
    (first === 0xf0 && second === 0x9f)
  )
}

function endsSymbol(bytes: Uint8Array, at: number): boolean {
  for (let length = 1; length <= 4; length += 1) {
    const lead = bytes[at - length]
    if (lead === undefined || lead < 0x80) return false
    if (lead >= 0xc0) return length > 1 && startsSymbol(lead, bytes[at - length + 1] ?? 0)
  }
  return false
}

const textBefore = (bytes: Uint8Array, at: number, length: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1', Math.max(0, at - length), at)
