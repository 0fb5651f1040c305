// Replacement as a pure function of bytes. The new text is inserted as it is: `$&` and friends mean nothing here.
import { GloveboxError } from '../../errors/error.ts'
import type { GuestPath } from '../../contract/mount.ts'
import { countOccurrences, separateOccurrences } from './occurrences.ts'
import { encodeText } from './strict.ts'

export interface Replacement {
  readonly path: GuestPath
  readonly oldText: string
  readonly newText: string
  readonly all: boolean
  readonly maxBytes: number
}

export interface Replaced {
  readonly bytes: Uint8Array
  readonly count: number
}

export function replaceIn(bytes: Uint8Array, request: Replacement): Replaced {
  const sought = encodeText(request.oldText)
  const inserted = encodeText(request.newText)
  const positions = separateOccurrences(bytes, sought)
  if (positions.length === 0) throw notFound(bytes, request)
  if (!request.all) refuseSeveral(countOccurrences(bytes, sought), request.path)
  const size = bytes.length + positions.length * (inserted.length - sought.length)
  if (size > request.maxBytes) {
    throw new GloveboxError(
      'TOO_LARGE',
      `Cannot replace text in ${request.path}: the result would have ${size} bytes, the limit is ${request.maxBytes}`,
    )
  }
  return { bytes: splice({ bytes, positions, removed: sought.length, inserted, size }), count: positions.length }
}

interface Splice {
  readonly bytes: Uint8Array
  readonly positions: readonly number[]
  readonly removed: number
  readonly inserted: Uint8Array
  readonly size: number
}

function splice({ bytes, positions, removed, inserted, size }: Splice): Uint8Array {
  const result = new Uint8Array(size)
  let read = 0
  let written = 0
  const put = (part: Uint8Array): void => {
    result.set(part, written)
    written += part.length
  }
  for (const position of positions) {
    put(bytes.subarray(read, position))
    put(inserted)
    read = position + removed
  }
  put(bytes.subarray(read))
  return result
}

/** Overlapping places count too: which of them was meant cannot be known. */
function refuseSeveral(count: number, path: GuestPath): void {
  if (count === 1) return
  throw new GloveboxError('TEXT_NOT_UNIQUE', `Cannot replace text in ${path}: it is there ${count} times`, {
    hint: 'Give more of the surrounding text so that it fits one place only, or ask to replace all.',
    facts: { count },
  })
}

function notFound(bytes: Uint8Array, { path, oldText }: Replacement): GloveboxError {
  const windows = encodeText(oldText.replaceAll(/\r?\n/g, '\r\n'))
  const unix = encodeText(oldText.replaceAll('\r\n', '\n'))
  const differsInLineEnds = [windows, unix].some((other) => countOccurrences(bytes, other) > 0)
  return new GloveboxError('TEXT_NOT_FOUND', `Cannot replace text in ${path}: the text is not there`, {
    hint: differsInLineEnds
      ? 'It is there with other line ends (CRLF or LF): write them as the file has them.'
      : 'Read the file again and copy the text exactly, with its spaces and line ends.',
  })
}
