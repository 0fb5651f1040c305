// What SQLite's result codes mean to whoever asked. The low byte is the kind; the rest is detail.
import { GloveboxError } from '../../errors/error.ts'
import { textOfError, unavailable } from '../fault.ts'

const kinds = { busy: 5, locked: 6, readOnly: 8, input: 10, corrupt: 11, full: 13, cannotOpen: 14, notADatabase: 26 }

/** The library gives no code with what it meets in the middle of reading rows; SQLite's words for it are fixed. */
const kindByText: readonly (readonly [text: string, kind: number])[] = [
  ['database is locked', kinds.busy],
  ['database table is locked', kinds.locked],
  ['attempt to write a readonly database', kinds.readOnly],
  ['disk I/O error', kinds.input],
  ['database disk image is malformed', kinds.corrupt],
  ['database or disk is full', kinds.full],
  ['unable to open database file', kinds.cannotOpen],
  ['file is not a database', kinds.notADatabase],
]

function kindOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_SQLITE_ERROR') return undefined
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode & 0xff
  return kindByText.find(([text]) => error.message.includes(text))?.[1]
}

export const isBusy = (error: unknown): boolean => [kinds.busy, kinds.locked].includes(kindOf(error) ?? -1)

export const isDamage = (error: unknown): boolean => [kinds.corrupt, kinds.notADatabase].includes(kindOf(error) ?? -1)

export function asStoreError(error: unknown): unknown {
  if (isBusy(error)) return unavailable('another process holds it locked', { hint: 'Try again in a moment.', error })
  if (isDamage(error))
    return unavailable('its file is damaged', {
      hint: 'Start the server again: the file is put aside then, and rebuilt from the files of runs and execs.',
      error,
    })
  const kind = kindOf(error)
  if (kind === kinds.full)
    return new GloveboxError('NO_SPACE', 'Cannot write to the database: the disk or the quota is full', {
      hint: 'Free some space; nothing that was answered is lost.',
      operatorDetail: textOfError(error),
    })
  if (kind === kinds.readOnly || kind === kinds.input || kind === kinds.cannotOpen)
    return unavailable('its file cannot be read or written', {
      hint: 'The operator must look at the state directory and its disk.',
      error,
    })
  return error
}
