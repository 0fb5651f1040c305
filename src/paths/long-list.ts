// A file of JSON whose last field is a list that may be very long, such as of all files that a guest left: read whole, or searched for one
// item, in pieces, between which others have their turns. It goes by the lines of JSON.stringify, with which such a file was written, and
// no text of JSON has a line break in it. Only a short file may have another form. What is not whole is told as nothing at all.
import { fstatSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { pieces, readUpTo } from './content.ts'

export interface LongListForm<About, Item> {
  /** With which it was written. */
  readonly indent: number
  /** The last field. */
  readonly field: string
  /** Of the whole with an empty list. Undefined: it is none of these. */
  readonly about: (value: unknown) => About | undefined
  readonly items: (value: unknown) => readonly Item[] | undefined
}

/** The first fields of an item, in the order in which they were written. */
export type FirstFields = Readonly<Record<string, string | null>>

/** Longer than all that stands before the list. */
const headBytes = 4096
/** Some ten milliseconds of the event loop. */
const mostAtOnceBytes = 1024 * 1024
const end = ']\n}\n'

/** Undefined: it is cut, or is none of these. */
export async function readLongList<About, Item>(
  fd: number,
  form: LongListForm<About, Item>,
): Promise<{ readonly about: About; readonly items: readonly Item[] } | undefined> {
  const about = await readHead(fd, form)
  if (about === undefined) return await readShort(fd, form)
  const items = await readItems(fd, form)
  return items === undefined ? undefined : { about, items }
}

/** The first item that begins so. Undefined: the list is cut, or is none of these. */
export async function searchLongList<About, Item>(
  fd: number,
  form: LongListForm<About, Item>,
  first: FirstFields,
): Promise<{ readonly about: About; readonly item: Item | undefined } | undefined> {
  const about = await readHead(fd, form)
  if (about === undefined) return await searchShort(fd, form, first)
  const found = await searchItems(fd, form, first)
  return found === undefined ? undefined : { about, item: found[0] }
}

async function readHead<About>(fd: number, form: LongListForm<About, unknown>): Promise<About | undefined> {
  const { size } = fstatSync(fd)
  const head = await readUpTo(fd, { offset: 0, limit: headBytes, expected: size })
  const tail = await readUpTo(fd, { offset: Math.max(0, size - end.length), limit: end.length, expected: size })
  const begin = beginOf(form)
  const at = head.indexOf(begin)
  return at < 0 || String(tail) !== end
    ? undefined
    : parsed(`${head.toString('utf8', 0, at + begin.length)}${end}`, form.about)
}

async function readItems<Item>(fd: number, form: LongListForm<unknown, Item>): Promise<readonly Item[] | undefined> {
  const [begin, between] = [beginOf(form), Buffer.from(`\n${spaces(form, 2)}},\n`)]
  const all: Item[] = []
  let seen = Buffer.alloc(0)
  let hasBegun = false
  /** Up to there all items are whole. */
  const take = (to: number): boolean => {
    const found = parsed(`[${seen.toString('utf8', 0, to)}]`, form.items)
    for (const item of found ?? []) all.push(item)
    return found !== undefined
  }
  for await (const piece of pieces(fd)) {
    seen = Buffer.concat([seen, piece])
    if (!hasBegun) {
      const at = seen.indexOf(begin)
      if (at < 0) return undefined
      hasBegun = true
      seen = seen.subarray(at + begin.length)
    }
    const to = seen.lastIndexOf(between)
    if (to < 0) continue
    if (!take(to + between.length - ',\n'.length)) return undefined
    seen = seen.subarray(to + between.length)
    await turn()
  }
  return hasBegun && take(seen.length - end.length) ? all : undefined
}

/** Undefined: what begins so is no such item. */
async function searchItems<Item>(
  fd: number,
  form: LongListForm<unknown, Item>,
  first: FirstFields,
): Promise<readonly Item[] | undefined> {
  const within = `\n${spaces(form, 3)}`
  const lines = Object.entries(first).map(
    ([name, value]) => `${within}${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  )
  const [begin, close] = [Buffer.from(`${lines.join('')}\n`), Buffer.from(`\n${spaces(form, 2)}}`)]
  let seen = Buffer.alloc(0)
  let from = -1
  for await (const piece of pieces(fd)) {
    seen = Buffer.concat([seen, piece])
    if (from < 0) from = seen.indexOf(begin)
    const to = from < 0 ? -1 : seen.indexOf(close, from)
    if (to >= 0) return parsed(`[{${seen.toString('utf8', from, to)}}]`, form.items)
    // What may be the beginning of it, or all that there is of it yet.
    seen = seen.subarray(from < 0 ? Math.max(0, seen.length - begin.length) : from)
    if (from >= 0) from = 0
  }
  return from < 0 ? [] : undefined
}

/** One that somebody has written anew, in a form of his own. */
async function readShort<About, Item>(
  fd: number,
  form: LongListForm<About, Item>,
): Promise<{ readonly about: About; readonly items: readonly Item[] } | undefined> {
  const value = await shortObject(fd)
  if (value === undefined) return undefined
  const [about, items] = [form.about({ ...value, [form.field]: [] }), form.items(value[form.field])]
  return about === undefined || items === undefined ? undefined : { about, items }
}

async function searchShort<About, Item>(
  fd: number,
  form: LongListForm<About, Item>,
  first: FirstFields,
): Promise<{ readonly about: About; readonly item: Item | undefined } | undefined> {
  const whole = await readShort(fd, form)
  if (whole === undefined) return undefined
  const begins = (item: unknown): boolean =>
    Object.entries(first).every(([name, value]) => (item as Readonly<Record<string, unknown>>)[name] === value)
  return { about: whole.about, item: whole.items.find(begins) }
}

async function shortObject(fd: number): Promise<Readonly<Record<string, unknown>> | undefined> {
  const text = await readUpTo(fd, { offset: 0, limit: mostAtOnceBytes + 1, expected: fstatSync(fd).size })
  if (text.length > mostAtOnceBytes) return undefined
  return parsed(String(text), (value) =>
    typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined,
  )
}

function parsed<Value>(text: string, check: (value: unknown) => Value | undefined): Value | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return check(value)
}

const spaces = ({ indent }: LongListForm<unknown, unknown>, depth: number): string => ' '.repeat(indent * depth)
const beginOf = (form: LongListForm<unknown, unknown>): Buffer =>
  Buffer.from(`\n${spaces(form, 1)}${JSON.stringify(form.field)}: [`)
