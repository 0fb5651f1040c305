// Which bytes were asked for. One range; several at once are answered with the whole, as RFC 9110 allows.
import { GloveboxError } from '../../errors/error.ts'

/** End included, as in the header. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

export function rangeOf(header: string | undefined, sizeBytes: number): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === '' && last === '') return undefined
  const range =
    first === ''
      ? { start: Math.max(0, sizeBytes - Number(last)), end: sizeBytes - 1 }
      : { start: Number(first), end: last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1) }
  // A range whose end comes before its beginning is no range at all, and is passed over.
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  if (range.start < sizeBytes && range.start <= range.end) return range
  throw new GloveboxError('RANGE_NOT_SATISFIABLE', `Cannot read from there: there are ${sizeBytes} bytes`, {
    facts: { sizeBytes },
  })
}

/** RFC 6266: never shown by a browser as a page of ours, and a name that no quoting can leave. */
export function dispositionOf(name: string): string {
  const ascii = name.replaceAll(/[^A-Za-z0-9._ -]/g, '_')
  const exact = encodeURIComponent(name.replaceAll(/\p{Surrogate}/gu, '\uFFFD')).replaceAll(
    /['()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${exact}`
}
