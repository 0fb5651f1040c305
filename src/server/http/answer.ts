// What a handler answers with. The handler says what; app.ts makes an HTTP response of it.

export type Headers = Readonly<Record<string, string>>

export interface StreamedEvent {
  /** Resumption begins behind it: `Last-Event-ID`. Absent: not to be resumed from. */
  readonly id?: string
  readonly event?: string
  readonly data: unknown
}

export type Answer =
  | { readonly kind: 'json'; readonly status: number; readonly value: unknown; readonly headers?: Headers }
  | { readonly kind: 'list'; readonly list: LongList }
  | { readonly kind: 'text'; readonly status: number; readonly text: string; readonly headers: Headers }
  | { readonly kind: 'empty'; readonly status: number; readonly headers?: Headers }
  | { readonly kind: 'bytes'; readonly file: ServedBytes; readonly range: string | undefined }
  | { readonly kind: 'events'; readonly events: EventSource; readonly headers?: Headers }

/** Of an object whose last field is long: to write it down at once would hold up everybody else. */
export interface LongList {
  readonly about: Readonly<Record<string, unknown>>
  readonly name: string
  readonly items: readonly unknown[]
}

/** Something that can be read from any place on. */
export interface ServedBytes {
  readonly sizeBytes: number
  /** Changes when the content does. Absent: ranges of a later request cannot be joined to these. */
  readonly tag?: string
  /** For Content-Disposition. */
  readonly name: string
  read(range: { readonly start: number; readonly end: number }): AsyncIterable<Uint8Array>
  close?(): void
}

/** Called with a signal that ends with the reader. */
export type EventSource = (signal: AbortSignal) => AsyncIterable<StreamedEvent>

export const json = (status: number, value: unknown, headers: Headers = {}): Answer => ({
  kind: 'json',
  status,
  value,
  headers,
})
/** As JSON, told in pieces where what it has under this name is long. */
export function list<Name extends string>(value: Readonly<Record<Name, readonly unknown[]>>, name: Name): Answer {
  const { [name]: items, ...about } = value
  return items.length <= itemsAtOnce ? json(200, value) : { kind: 'list', list: { about, name, items } }
}

export const itemsAtOnce = 512

export const empty = (status = 204, headers: Headers = {}): Answer => ({ kind: 'empty', status, headers })
export const text = (value: string, headers: Headers & { readonly 'content-type': string }): Answer => ({
  kind: 'text',
  status: 200,
  text: value,
  headers,
})
/** `range` is the request's header. */
export const bytes = (file: ServedBytes, range: string | undefined): Answer => ({ kind: 'bytes', file, range })
export const events = (source: EventSource, headers: Headers = {}): Answer => ({
  kind: 'events',
  events: source,
  headers,
})
