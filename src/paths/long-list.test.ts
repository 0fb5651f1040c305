import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readLongList, searchLongList, type LongListForm } from './long-list.ts'

interface About {
  readonly name: string
  readonly totals: { readonly entries: number }
}
interface Item {
  readonly path: string
  readonly base: null
  readonly size: number
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
const formOf = (indent: number): LongListForm<About, Item> => ({
  indent,
  field: 'entries',
  about: (value) => (isObject(value) && value['name'] === 'whole' ? (value as unknown as About) : undefined),
  items: (value) =>
    Array.isArray(value) && value.every((each) => isObject(each) && typeof each['size'] === 'number')
      ? (value as readonly Item[])
      : undefined,
})

let place: string
let file: string
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'glovebox-long-list-'))
  file = join(place, 'list.json')
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

const hard = ['a', 'b"c', '\n    },\n', '\n   "path": "a",\n   "base": null,\n', ']\n}\n', '{', '\\', 'ü€😀', ' ']
const listOf = (count: number) => ({
  name: 'whole',
  // As the field that holds the list, one level below.
  totals: { entries: count },
  entries: Array.from({ length: count }, (_, at): Item => ({
    path: `${hard[at % hard.length]}${at}`,
    base: null,
    size: at,
  })),
})
const write = (list: unknown, indent: number): void => writeFileSync(file, `${JSON.stringify(list, null, indent)}\n`)

async function opened<Value>(read: (fd: number) => Promise<Value>): Promise<Value> {
  const fd = openSync(file, 'r')
  try {
    return await read(fd)
  } finally {
    closeSync(fd)
  }
}
const whole = (indent: number) => opened((fd) => readLongList(fd, formOf(indent)))
const search = (indent: number, path: string) =>
  opened((fd) => searchLongList(fd, formOf(indent), { path, base: null }))

/** How often others had their turn meanwhile. */
async function turnsDuring(work: () => unknown): Promise<number> {
  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  isOver = true
  return turns
}

describe.each([1, 2])('a long list that was written with an indent of %i', (indent) => {
  it.each([0, 1, 20, 2000])('is read as it was, of %i items', async (count) => {
    const list = listOf(count)
    write(list, indent)
    const read = await whole(indent)
    expect(read?.items).toEqual(list.entries)
    expect(read?.about).toEqual({ ...list, entries: [] })
  })

  it('is searched for one item', async () => {
    const list = listOf(40_000)
    write(list, indent)
    for (const at of [0, 1, 2, 3, 4, 20_003, 39_999]) {
      const { path } = list.entries[at]!
      expect(await search(indent, path)).toEqual({ about: { ...list, entries: [] }, item: list.entries[at] })
    }
    for (const path of ['a', '', 'c1', 'whole', '\n', '3'])
      expect(await search(indent, path), path).toMatchObject({ item: undefined, about: { name: 'whole' } })
  })

  it('is read and searched in pieces, between which others have their turn', async () => {
    const list = listOf(60_000)
    write(list, indent)
    expect(await turnsDuring(() => whole(indent))).toBeGreaterThan(2)
    expect(await turnsDuring(() => search(indent, 'not there'))).toBeGreaterThan(2)
    // Control: at once they have none.
    expect(await turnsDuring(() => JSON.parse(readFileSync(file, 'utf8')) as unknown)).toBe(0)
  })

  it('that was damaged anywhere is none', async () => {
    write(listOf(60_000), indent)
    const sound = readFileSync(file, 'utf8')
    const middle = sound.indexOf('"size"', sound.length / 2)
    for (const bad of [
      '',
      sound.slice(0, -1),
      sound.slice(0, sound.length / 2),
      sound.replace('"entries": [', '"entry": ['),
      sound.replace('"whole"', '"other"'),
      `${sound.slice(0, middle)}"girth"${sound.slice(middle + 6)}`,
      `${sound.slice(0, middle)}}${sound.slice(middle + 1)}`,
    ]) {
      writeFileSync(file, bad)
      expect(await whole(indent)).toBeUndefined()
    }
    for (const bad of ['', sound.slice(0, -1), sound.replace('"whole"', '"other"')]) {
      writeFileSync(file, bad)
      expect(await search(indent, 'a0')).toBeUndefined()
    }
    // What begins like the item that is asked for, and is none.
    writeFileSync(file, sound.replace('"size": 0', '"girth": 0'))
    expect(await search(indent, 'a0')).toBeUndefined()
    expect(await search(indent, `${hard[1]}1`)).toMatchObject({ item: { size: 1 } })
  })

  it('that somebody has written in a form of his own is taken where it is short', async () => {
    const list = listOf(20)
    writeFileSync(file, JSON.stringify(list))
    expect((await whole(indent))?.items).toEqual(list.entries)
    expect(await search(indent, list.entries[7]!.path)).toMatchObject({ item: list.entries[7] })
    expect(await search(indent, 'none')).toMatchObject({ item: undefined })
    writeFileSync(file, JSON.stringify(listOf(60_000)))
    expect([await whole(indent), await search(indent, 'a0')]).toEqual([undefined, undefined])
  })
})
