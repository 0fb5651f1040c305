// Lists come in pages. A cursor is the server's own, and means nothing elsewhere.

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Null: there is no more. */
  readonly next_cursor: string | null
}

export interface PageOptions {
  /** At most so many; the server may give fewer. */
  readonly limit?: number
  readonly cursor?: string
  readonly signal?: AbortSignal
}

/** Every item of every page, each page asked for when it is needed. */
export async function* eachOf<Item>(
  ask: (cursor: string | undefined) => Promise<Page<Item>>,
): AsyncGenerator<Item, void> {
  let cursor: string | undefined
  do {
    const page = await ask(cursor)
    yield* page.items
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
}
