// What a guest may say to the operator's own terminal. Drawing passes byte for byte; what reaches beyond the screen does not: the
// clipboard, files, printers, and questions whose answer holds text that the guest has chosen. It also keeps account of the modes
// that were switched, so that the terminal can be given back as it was. Pure: what comes out depends on the bytes alone and not
// on how they were cut.

export interface Guard {
  /** What of it may be shown. A sequence that is cut in two is held until the rest comes. */
  pass(bytes: Uint8Array): Uint8Array
  /** Gives the terminal back: modes off that were switched on, and a cursor that can be seen. */
  farewell(): string
}

const escape = 0x1b
const bell = 0x07
const cancels: ReadonlySet<number> = new Set([0x18, 0x1a])
/** Longer ones are none that a terminal knows. */
const longest = 4096

/** Titles, colours, links, and marks of a shell's prompt. SECURITY: 52 writes the clipboard, 1337 and others write files.
 * test/attacks/terminals: "a guest reaches no further than the operator's screen" */
const allowedCommands: ReadonlySet<string> = new Set([
  '0',
  '1',
  '2',
  '4',
  '8',
  '10',
  '11',
  '12',
  '104',
  '110',
  '111',
  '112',
  '133',
])

type State = 'text' | 'escape' | 'control' | 'command' | 'string'

/** By the byte behind an escape, and by the second byte of the same character in UTF-8. */
const beginnings = new Map<number, State>([
  [0x5b, 'control'],
  [0x5d, 'command'],
  // Device control, start of string, privacy message, application program: for other ears than a screen's.
  [0x50, 'string'],
  [0x58, 'string'],
  [0x5e, 'string'],
  [0x5f, 'string'],
])
const oneCharacter = 0xc2
const asEscaped = (second: number): number => second - 0x40

export function createGuard(): Guard {
  const modes = createModes()
  let state: State = 'text'
  let held: number[] = []
  /** The byte before may have begun the end of a string, or a character that stands for an escape and a byte. */
  let before = 0
  let shown: number[] = []

  const show = (...bytes: readonly number[]): void => {
    for (const byte of bytes) shown.push(byte)
  }
  const begin = (next: State, ...first: readonly number[]): void => {
    state = next
    held = [...first]
    before = 0
  }
  const finish = (isAllowed: boolean): void => {
    if (isAllowed) show(...held)
    begin('text')
  }

  const inText = (byte: number): void => {
    if (before === oneCharacter) {
      before = 0
      const next = beginnings.get(asEscaped(byte))
      if (next !== undefined) return begin(next, oneCharacter, byte)
      return show(oneCharacter, byte)
    }
    if (byte === escape) begin('escape', byte)
    else if (byte === oneCharacter) before = byte
    else show(byte)
  }
  const inEscape = (byte: number): void => {
    held.push(byte)
    const next = beginnings.get(byte)
    if (next !== undefined) return begin(next, ...held)
    if (byte === escape) return begin('escape', byte)
    // Intermediate bytes come before the last one.
    if (byte < 0x20 || byte > 0x2f || held.length > longest) finish(held.length <= longest)
  }
  const inControl = (byte: number): void => {
    if (byte === escape) return begin('escape', byte)
    if (cancels.has(byte)) return finish(false)
    held.push(byte)
    if (held.length > longest) return finish(false)
    if (byte < 0x40 || byte > 0x7e) return
    const words = text(held).replace(/^(?:\u001b\[|\u00c2\u009b)/, '')
    modes.note(words)
    finish(!isTelling(words))
  }
  const isEnd = (byte: number): boolean =>
    byte === bell || (before === escape && byte === 0x5c) || (before === oneCharacter && byte === 0x9c)
  const inCommand = (byte: number): void => {
    if (held.length < longest) held.push(byte)
    if (cancels.has(byte)) return finish(false)
    if (isEnd(byte)) {
      const [, number = ''] = /^(?:\u001b\]|\u00c2\u009d)(\d*)/.exec(text(held)) ?? []
      return finish(held.length < longest && allowedCommands.has(number))
    }
    before = byte
  }
  const inString = (byte: number): void => {
    if (cancels.has(byte) || (isEnd(byte) && byte !== bell)) return finish(false)
    before = byte
  }
  const take: Readonly<Record<State, (byte: number) => void>> = {
    text: inText,
    escape: inEscape,
    control: inControl,
    command: inCommand,
    string: inString,
  }

  return {
    pass(bytes) {
      if (state === 'text' && before === 0 && !bytes.includes(escape) && !bytes.includes(oneCharacter)) return bytes
      shown = []
      for (const byte of bytes) take[state](byte)
      return Uint8Array.from(shown)
    },
    farewell: () => modes.farewell(),
  }
}

const text = (bytes: readonly number[]): string => String.fromCharCode(...bytes)

/** SECURITY: the answer to these holds a title of the guest's choice, or what else is on the screen; `i` prints on paper. When the
 * guest has just ended, the operator's own shell would read the answer.
 * test/attacks/terminals: "a guest reaches no further than the operator's screen" */
const isTelling = (words: string): boolean =>
  (/^2[01](?:;|t$).*/.test(words) && words.endsWith('t')) || /(?:\*y|i)$/.test(words)

interface Modes {
  note(words: string): void
  farewell(): string
}

const cursorShown = '25'

function createModes(): Modes {
  const on = new Set<string>()
  let isCursorHidden = false
  return {
    note(words) {
      const [, numbers = '', letter] = /^\?([\d;]+)([hl])$/.exec(words) ?? []
      for (const number of numbers.split(';').filter((each) => each !== '')) {
        if (number === cursorShown) isCursorHidden = letter === 'l'
        else if (letter === 'h') on.add(number)
        else on.delete(number)
      }
    },
    farewell() {
      const off = [...on].toReversed().map((number) => `\u001b[?${number}l`)
      return `${off.join('')}${isCursorHidden ? '\u001b[?25h' : ''}\u001b[!p\u001b[0m`
    },
  }
}
