// The form of a journal. By hand, since a schema library would cost every start more than the whole sweep.
import { isSandboxId } from '../contract/ids.ts'
import type { ProcessIdentity } from '../process/identity.ts'
import type { Journal, JournalEntry } from './journal.ts'

/** Throws on anything but a whole journal. */
export function parseJournal(text: string): Journal {
  const value = record(JSON.parse(text))
  const sandboxId = string(value['sandboxId'])
  if (!isSandboxId(sandboxId)) throw unknownForm()
  const limitGroup = value['limitGroup']
  return {
    sandboxId,
    owner: parseOwner(record(value['owner'])),
    entries: list(value['entries']).map((each) => parseEntry(record(each))),
    ...(limitGroup === undefined ? {} : { limitGroup: list(limitGroup).map(string) }),
  }
}

function parseOwner(value: Record<string, unknown>): ProcessIdentity {
  const pid = value['pid']
  if (typeof pid !== 'number' || !Number.isInteger(pid)) throw unknownForm()
  return {
    pid,
    startTime: string(value['startTime']),
    bootId: string(value['bootId']),
    pidNamespace: string(value['pidNamespace']),
  }
}

function parseEntry(value: Record<string, unknown>): JournalEntry {
  const { kind, content, temporary, device, inode, born } = value
  if (kind !== 'file' && kind !== 'directory') throw unknownForm()
  return {
    root: string(value['root']),
    name: string(value['name']),
    kind,
    ...(content === undefined ? {} : { content: string(content) }),
    ...(temporary === undefined ? {} : { temporary: string(temporary) }),
    ...(device === undefined ? {} : { device: string(device) }),
    ...(inode === undefined ? {} : { inode: string(inode) }),
    ...(born === undefined ? {} : { born: string(born) }),
  }
}

function record(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unknownForm()
  return value as Record<string, unknown>
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw unknownForm()
  return value
}

function string(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw unknownForm()
  return value
}

const unknownForm = (): TypeError => new TypeError('The journal has an unknown form.')
