// A glob as a regular expression of the search program. The same language as for files: `*` and `?` stay within
// a name, `**` between slashes goes through directories, `[…]` and `{…}` as usual, a backslash takes the next
// character as it is. The caller's glob has been read by the program before, so it is well formed.
export function globToRegex(glob: string): string {
  const reader: Reader = { glob, at: 0, depth: 0 }
  let regex = ''
  while (reader.at < glob.length) regex += next(reader)
  return `^(?s:${regex})$`
}

interface Reader {
  readonly glob: string
  at: number
  depth: number
}

function next(reader: Reader): string {
  const { glob, at } = reader
  const character = characterAt(glob, at)
  if (character === '*') return star(reader)
  if (character === '[') return characterClass(reader)
  reader.at += character.length
  if (character === '\\') return escaped(reader)
  if (character === '?') return oneOf('[^/]')
  if (character === '{') {
    reader.depth++
    return '(?:'
  }
  if (character === '}' && reader.depth > 0) {
    reader.depth--
    return ')'
  }
  return character === ',' && reader.depth > 0 ? '|' : literal(character)
}

function escaped(reader: Reader): string {
  const character = characterAt(reader.glob, reader.at)
  reader.at += character.length
  return literal(character)
}

/** A whole code point, never half of a surrogate pair. */
const characterAt = (text: string, at: number): string => {
  const code = text.codePointAt(at)
  return code === undefined ? '' : String.fromCodePoint(code)
}

/** `**` has its meaning only as a whole part of the path; elsewhere two stars are one. */
function star(reader: Reader): string {
  const { glob, at } = reader
  const run = /^\*+/.exec(glob.slice(at))?.[0].length ?? 1
  const opens = at === 0 || '/{,'.includes(glob[at - 1] ?? '')
  const after = glob[at + run] ?? ''
  reader.at = at + run
  if (run !== 2 || !opens) return '[^/]*'
  if (after === '/') {
    reader.at++
    return '(?:.*/)?'
  }
  return after === '' || ',}'.includes(after) ? '.+' : '[^/]*'
}

function characterClass(reader: Reader): string {
  const { glob } = reader
  const negated = glob[reader.at + 1] === '!' || glob[reader.at + 1] === '^'
  const first = reader.at + (negated ? 2 : 1)
  const end = glob.indexOf(']', first + 1)
  if (end === -1) {
    reader.at++
    return literal('[')
  }
  reader.at = end + 1
  const inside = glob.slice(first, end).replaceAll(/[\\[\]^&~]/g, String.raw`\$&`)
  return oneOf(negated ? `[^/${inside}]` : `[${inside}]`)
}

/** The program's globs work on bytes: `?` and a class stand for one byte, so that `?` does not fit `é`. */
const oneOf = (set: string): string => (/^[ -~]*$/.test(set) ? `(?-u:${set})` : set)

/** As a code point, so that no character has a meaning of its own. */
const literal = (character: string): string =>
  /^[A-Za-z0-9_/]?$/.test(character) ? character : String.raw`\x{${(character.codePointAt(0) ?? 0).toString(16)}}`
