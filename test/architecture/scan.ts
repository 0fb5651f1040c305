// Splits TypeScript into code, strings and comments, so that a rule about code is not met by a word in a sentence, nor a
// rule about sentences by code. It knows just enough of the language for that, and needs no compiler.

export interface Scanned {
  /** The source with every comment blank and every string as `«n»`, n being its place in `strings`. Lines are kept. */
  readonly code: string
  readonly strings: readonly string[]
  /** Neighbouring line comments are one. Without comment marks; lines are joined by a blank. */
  readonly comments: readonly Comment[]
}

export interface Comment {
  readonly line: number
  readonly text: string
}

/** After one of these a slash begins a regular expression; after a name, a number or a bracket it divides. */
const beforeRegExp = /(?:^|[(,=:[!&|?{};<>+*%~^-]|\b(?:return|typeof|case|in|of|await|throw))\s*$/

class Scanner {
  readonly #text: string
  #at = 0
  #code = ''
  readonly #strings: string[] = []
  readonly #comments: { line: number; text: string; end: number; isLine: boolean }[] = []

  constructor(text: string) {
    this.#text = text
  }

  scan(): Scanned {
    this.#codeUntil(() => false)
    return { code: this.#code, strings: this.#strings, comments: joinLines(this.#comments) }
  }

  #codeUntil(isEnd: () => boolean): void {
    let depth = 0
    while (this.#at < this.#text.length) {
      if (depth === 0 && isEnd()) return
      const here = this.#text[this.#at] ?? ''
      const pair = this.#text.slice(this.#at, this.#at + 2)
      if (pair === '//') this.#comment('\n', { isLine: true })
      else if (pair === '/*') this.#comment('*/', { isLine: false })
      else if (here === "'" || here === '"') this.#quoted(here)
      else if (here === '`') this.#template()
      else if (here === '/' && beforeRegExp.test(this.#code.slice(-40))) this.#regExp()
      else {
        if (here === '{') depth += 1
        if (here === '}') depth -= 1
        this.#code += here
        this.#at += 1
      }
    }
  }

  #comment(end: string, { isLine }: { readonly isLine: boolean }): void {
    const found = this.#text.indexOf(end, this.#at + 2)
    const stop = found < 0 ? this.#text.length : found + (isLine ? 0 : end.length)
    const raw = this.#text.slice(this.#at, stop)
    const line = this.#text.slice(0, this.#at).split('\n').length
    const text = raw
      .replace(/^\/\/+|^\/\*+|\*\/$/g, '')
      .replaceAll(/\n\s*\*?/g, ' ')
      .trim()
    this.#comments.push({ line, text, end: line + raw.split('\n').length - 1, isLine })
    this.#code += raw.replaceAll(/[^\n]/g, ' ')
    this.#at = stop
  }

  #quoted(quote: string): void {
    let value = ''
    this.#at += 1
    while (this.#at < this.#text.length && this.#text[this.#at] !== quote) value += this.#character()
    this.#at += 1
    this.#keep(value)
  }

  /** What stands between `${` and `}` is code again; the string keeps `${}` in its place. */
  #template(): void {
    let value = ''
    this.#at += 1
    while (this.#at < this.#text.length && this.#text[this.#at] !== '`') {
      if (this.#text.startsWith('${', this.#at)) {
        this.#at += 2
        this.#code += ' '
        this.#codeUntil(() => this.#text[this.#at] === '}')
        this.#at += 1
        this.#code += ' '
        value += '${}'
      } else value += this.#character()
    }
    this.#at += 1
    this.#keep(value)
  }

  #regExp(): void {
    let inClass = false
    let value = '/'
    for (this.#at += 1; this.#at < this.#text.length; this.#at += 1) {
      const here = this.#text[this.#at] ?? ''
      value += here
      if (here === '\\') value += this.#text[(this.#at += 1)] ?? ''
      else if (here === '[') inClass = true
      else if (here === ']') inClass = false
      else if (here === '/' && !inClass) break
    }
    this.#at += 1
    this.#keep(value)
  }

  #character(): string {
    const here = this.#text[this.#at] ?? ''
    this.#at += 1
    if (here !== '\\') return here
    const escaped = this.#text[this.#at] ?? ''
    this.#at += 1
    return escaped === 'n' ? '\n' : escaped
  }

  #keep(value: string): void {
    this.#code += `«${this.#strings.length}»`
    this.#strings.push(value)
  }
}

function joinLines(
  comments: readonly { line: number; text: string; end: number; isLine: boolean }[],
): readonly Comment[] {
  const joined: { line: number; text: string; end: number; isLine: boolean }[] = []
  for (const comment of comments) {
    const last = joined.at(-1)
    if (last?.isLine === true && comment.isLine && last.end + 1 === comment.line) {
      last.text += ` ${comment.text}`
      last.end = comment.end
    } else joined.push({ ...comment })
  }
  return joined.map(({ line, text }) => ({ line, text: text.replaceAll(/\s+/g, ' ') }))
}

export const scan = (text: string): Scanned => new Scanner(text).scan()
