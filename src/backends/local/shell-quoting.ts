// Writes a host path into the text of a shell command so that it stays one word. A path with a space or a quote must
// be spelt differently bare, inside '…', inside "…" and in a here-document; so the text is followed up to the path.
// It is a reader of quoting, not a parser of shell: an unbalanced `case` pattern inside `$(…)` can lead it astray.
import type { Spelling } from './replacer.ts'

type Context = 'bare' | 'backtick' | 'single' | 'double' | 'ansi' | 'comment' | 'document' | 'raw document'

interface HereDocument {
  readonly delimiter: string
  readonly raw: boolean
  readonly tabs: boolean
}

const plainPath = /^[A-Za-z0-9_/.,:=@%+-]*$/

/** For one command text: matches must be spelt in the order in which they stand. */
export function shellSpelling(): Spelling {
  const reader = quotingReader()
  return (to, bytes, at) => {
    const path = to.toString('latin1')
    if (plainPath.test(path)) return to
    return Buffer.from(spelt(path, reader(Buffer.from(bytes).toString('latin1'), at)), 'latin1')
  }
}

function spelt(path: string, context: Context): string {
  if (context === 'bare' || context === 'backtick') return `'${path.replaceAll("'", "'\\''")}'`
  if (context === 'single') return path.replaceAll("'", "'\\''")
  if (context === 'double') return path.replaceAll(/["$`\\]/g, '\\$&')
  if (context === 'ansi') return path.replaceAll(/['\\]/g, '\\$&')
  if (context === 'document') return path.replaceAll(/[$`\\]/g, '\\$&')
  return path
}

function quotingReader(): (text: string, upTo: number) => Context {
  const open: Context[] = []
  const documents: HereDocument[] = []
  let at = 0

  const top = (): Context => open.at(-1) ?? 'bare'

  const readBare = (text: string): void => {
    const here = text[at]
    if (here === '\\') at += 1
    else if (here === "'") open.push(text[at - 1] === '$' ? 'ansi' : 'single')
    else if (here === '"') open.push('double')
    else if (here === '(') open.push('bare')
    else if (here === '`') toggleBacktick()
    else if (here === ')' && open.length > 0) open.pop()
    else if (here === '#' && /^$|[\s;&|(]/.test(text[at - 1] ?? '')) open.push('comment')
    else if (here === '<' && text[at + 1] === '<' && text[at - 1] !== '<') noteDocument(text)
    else if (here === '\n') openDocument()
  }

  const readDouble = (text: string): void => {
    const here = text[at]
    if (here === '\\') at += 1
    else if (here === '"') open.pop()
    else if (here === '`') toggleBacktick()
    else if (here === '(' && text[at - 1] === '$') open.push('bare')
  }

  const toggleBacktick = (): void => {
    if (top() === 'backtick') open.pop()
    else open.push('backtick')
  }

  const noteDocument = (text: string): void => {
    const found = /^<<(-?)[ \t]*(?:'([^'\n]*)'|"([^"\n]*)"|\\?([\w.+-]+))/.exec(text.slice(at, at + 256))
    if (found === null) return
    const [whole, dash, single, double, word] = found
    documents.push({
      delimiter: single ?? double ?? word ?? '',
      raw: word === undefined || whole.includes('\\'),
      tabs: dash === '-',
    })
    at += whole.length - 1
  }

  const openDocument = (): void => {
    const first = documents[0]
    if (first !== undefined) open.push(first.raw ? 'raw document' : 'document')
  }

  const readDocument = (text: string): void => {
    const [document] = documents
    if (document === undefined || (at > 0 && text[at - 1] !== '\n')) return
    const lineEnd = text.indexOf('\n', at)
    const line = text.slice(at, lineEnd === -1 ? text.length : lineEnd)
    if ((document.tabs ? line.replace(/^\t+/, '') : line) !== document.delimiter) return
    documents.shift()
    open.pop()
    at += Math.max(0, line.length - 1)
  }

  const readOne = (text: string): void => {
    const context = top()
    if (context === 'bare' || context === 'backtick') readBare(text)
    else if (context === 'double') readDouble(text)
    else if (context === 'single' || context === 'ansi') {
      if (context === 'ansi' && text[at] === '\\') at += 1
      else if (text[at] === "'") open.pop()
    } else if (context === 'comment') {
      if (text[at] !== '\n') return
      open.pop()
      openDocument()
    } else readDocument(text)
  }

  return (text, upTo) => {
    for (; at < upTo; at += 1) readOne(text)
    return top()
  }
}
