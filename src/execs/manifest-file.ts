// manifest.json on the disk: written and read in pieces. A guest may have left 100,000 names, and to write or read their list at once would
// hold the event loop, which is everybody's, for some hundred milliseconds.
import { closeSync, constants, openSync } from 'node:fs'
import { z } from 'zod'
import {
  execArtifactSchema,
  execManifestSchema,
  type ExecArtifact,
  type ExecManifest,
} from '../contract/exec-record.ts'
import { readLongList, searchLongList, type LongListForm } from '../paths/long-list.ts'
import { isErrno } from '../paths/refusal.ts'
import { recordPlace, type ExecName } from './layout.ts'

/** What is written of it at a time. */
const entriesAtOnce = 512

/** The text of the whole, line by line as JSON.stringify has it: whoever reads in pieces goes by its lines. */
export function* manifestText({ entries, ...about }: ExecManifest): Generator<string, void> {
  yield `${JSON.stringify({ ...about, entries: [] }, null, 2).slice(0, -end.length)}[`
  for (let at = 0; at < entries.length; at += entriesAtOnce) {
    const lines = entries
      .slice(at, at + entriesAtOnce)
      .map((entry) => `\n    ${deeper(JSON.stringify(entry, null, 2))}`)
    yield `${at === 0 ? '' : ','}${lines.join(',')}`
  }
  yield `${entries.length === 0 ? '' : '\n  '}${end.slice(1)}\n`
}

const end = '[]\n}'
const deeper = (text: string): string => text.replaceAll('\n', '\n    ')

export interface RecordedList {
  readonly complete: boolean
  readonly entries: readonly ExecArtifact[]
}

/** Undefined where there is none, or what is there is no manifest of this exec. */
export async function readManifest(root: string, name: ExecName): Promise<RecordedList | undefined> {
  const read = await withManifest(root, name, (fd) => readLongList(fd, formOf(name)))
  return read === undefined ? undefined : { complete: read.about.complete, entries: read.items }
}

/** What it says of one file, and whether it leaves nothing out. Undefined as above. */
export async function searchManifest(
  root: string,
  name: ExecName,
  path: string,
): Promise<{ readonly complete: boolean; readonly entry: ExecArtifact | undefined } | undefined> {
  const said = await withManifest(root, name, (fd) => searchLongList(fd, formOf(name), { path, path_base64: null }))
  return said === undefined ? undefined : { complete: said.about.complete, entry: said.item }
}

async function withManifest<Value>(
  root: string,
  name: ExecName,
  read: (fd: number) => Promise<Value>,
): Promise<Value | undefined> {
  const fd = openManifest(root, name)
  if (fd === undefined) return undefined
  try {
    return await read(fd)
  } finally {
    closeSync(fd)
  }
}

function openManifest(root: string, name: ExecName): number | undefined {
  try {
    return openSync(recordPlace(root, name, 'manifest.json'), constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined
    throw error
  }
}

const entriesSchema = z.array(execArtifactSchema)

const formOf = ({ exec_id }: ExecName): LongListForm<ExecManifest, ExecArtifact> => ({
  indent: 2,
  field: 'entries',
  about(value) {
    const { data } = execManifestSchema.safeParse(value)
    return data?.exec_id === exec_id ? data : undefined
  },
  items: (value) => entriesSchema.safeParse(value).data,
})
