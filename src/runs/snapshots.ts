// What a run was given: session, task, prompt and config. They are believed only if they are what the first event says
// they were, because whatever is made from them is done in the name of that run.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { RunEvent } from '../contract/event.ts'
import {
  sessionRecordSchema,
  taskRecordSchema,
  type RunRecord,
  type SessionRecord,
  type TaskRecord,
} from '../contract/run.ts'
import { GloveboxError } from '../errors/error.ts'
import { placeIn, snapshotFiles } from './layout.ts'
import { apply, createdDataSchema } from './machine.ts'
import { readEvents } from './reader.ts'
import { asStorageError } from './storage-error.ts'

export interface Snapshots {
  /** As it was when the run was created. */
  readonly created: RunRecord
  readonly session: SessionRecord
  readonly task: TaskRecord
  readonly prompt: string
  readonly configText: string
}

/** RECORD_DAMAGED when one of them was changed. */
export async function readSnapshots(directory: string): Promise<Snapshots> {
  const first = await firstEvent(directory)
  const created = first === undefined ? undefined : createdDataSchema.safeParse(first.data)
  if (first === undefined || created?.success !== true) throw damaged('its first event cannot be read')
  const texts = new Map<string, string>()
  for (const name of snapshotFiles) {
    const bytes = contentOf(directory, name)
    if (createHash('sha256').update(bytes).digest('hex') !== created.data.files[name])
      throw damaged(`${name} is not what it was when the run began`)
    texts.set(name, bytes.toString('utf8'))
  }
  const textOf = (name: (typeof snapshotFiles)[number]): string => texts.get(name) ?? ''
  return {
    created: apply(undefined, first),
    session: sessionRecordSchema.parse(JSON.parse(textOf('session.json'))),
    task: taskRecordSchema.parse(parse(textOf('task.yaml'))),
    prompt: textOf('prompt.md'),
    configText: textOf('config.yaml'),
  }
}

async function firstEvent(directory: string): Promise<RunEvent | undefined> {
  for await (const event of readEvents(directory)) return event
  return undefined
}

function contentOf(directory: string, name: (typeof snapshotFiles)[number]): Buffer {
  try {
    return readFileSync(placeIn(directory, name))
  } catch (error) {
    throw asStorageError(error, `read ${name} of the run`)
  }
}

const damaged = (cause: string): GloveboxError =>
  new GloveboxError('RECORD_DAMAGED', `Cannot use the run: ${cause}`, {
    hint: '`glovebox runs verify` tells more.',
  })
