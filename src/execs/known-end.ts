// How an exec ended, as soon as it is known: in its own directory, until its record says so. To bound, redact, hash and sync what it left
// may take minutes, and a server that dies meanwhile must not leave a guess.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { execRecordSchema } from '../contract/exec-record.ts'
import { hasEnded, type ExecRow } from '../contract/store.ts'
import { isErrno } from '../paths/refusal.ts'
import type { Finished } from './finish.ts'
import { execPlace, type ExecName } from './layout.ts'
import { writeRecord } from './record.ts'

const noteSchema = z.strictObject({
  /** Of which attempt it is the end: nothing that ran under another name ended so. */
  boundary_id: z.string().nullable(),
  end: execRecordSchema
    .pick({
      status: true,
      exit_code: true,
      error_reason: true,
      duration_ms: true,
      stdout_truncated: true,
      stderr_truncated: true,
    })
    .extend({ ended_at: z.string() }),
})

const placeOf = (root: string, name: ExecName): string => join(execPlace(root, name), '.known-end')

/** It outlives this process, and need not outlive a power cut: nobody has been told of the end yet. */
export const noteEnd = (
  root: string,
  row: ExecRow,
  { status, exit_code, error_reason, ended_at, duration_ms, stdout_truncated, stderr_truncated }: KnownEnd,
): Promise<void> => {
  const end = { status, exit_code, error_reason, ended_at, duration_ms, stdout_truncated, stderr_truncated }
  return writeRecord(placeOf(root, row), [JSON.stringify({ boundary_id: row.boundary_id, end })], { sync: false })
}

export type KnownEnd = Finished & { readonly ended_at: string }

/** Undefined where there is none, or what is there says nothing of this attempt. */
export function notedEnd(root: string, row: ExecRow): KnownEnd | undefined {
  const note = noteSchema.safeParse(parsed(placeOf(root, row)))
  if (!note.success || note.data.boundary_id !== row.boundary_id) return undefined
  return hasEnded(note.data.end.status) ? note.data.end : undefined
}

export const forgetEnd = (root: string, name: ExecName): void => rmSync(placeOf(root, name), { force: true })

function parsed(place: string): unknown {
  try {
    return JSON.parse(readFileSync(place, 'utf8')) as unknown
  } catch (error) {
    // Behind a power cut it may be there without what was in it.
    if (error instanceof SyntaxError || isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}
