// What SQLite's result codes mean to whoever asked. The low byte is the kind; the rest is detail.
import { GloveboxError } from '../../errors/error.ts'
import { isErrno } from '../../paths/refusal.ts'
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

/** Only those who make the index anew put the file aside: else nobody would know that it is to be made. */
export const damaged = (error?: unknown): GloveboxError =>
  unavailable('its file is damaged', {
    hint: 'Start the server again, or stop it and run `glovebox reindex`: the file is kept aside then, and the index made anew from the files of execs and runs. Tokens are not in files: make new ones after that.',
    error,
  })

export function asStoreError(error: unknown): unknown {
  if (isBusy(error)) return unavailable('another process holds it locked', { hint: 'Try again in a moment.', error })
  if (isDamage(error)) return damaged(error)
  const kind = kindOf(error)
  if (kind === kinds.full || isErrno(error, 'ENOSPC', 'EDQUOT'))
    return new GloveboxError('NO_SPACE', 'Cannot write to the database: the disk or the quota is full', {
      hint: 'Free some space; nothing that was answered is lost.',
      operatorDetail: textOfError(error),
    })
  if (kind === kinds.readOnly || kind === kinds.input || kind === kinds.cannotOpen || isErrno(error))
    return unavailable('its file cannot be read or written', {
      hint: 'The operator must look at the state directory and its disk.',
      error,
    })
  return error
}
