// The run machine: a pure fold of events into run.json. It knows no file and no clock; whoever has the same events has
// the same record. An event that the table does not allow is an error, and the record stays as it was.
import { z } from 'zod'
import type { RunEvent } from '../contract/event.ts'
import {
  forkedFromSchema,
  idSchema,
  isTerminal,
  layoutVersion,
  reasonSchema,
  runStatuses,
  sha256Schema,
  transitions,
  type RunRecord,
  type RunStatus,
} from '../contract/run.ts'
import { GloveboxError } from '../errors/error.ts'

/** Files of the run directory and what they held when the event was written. */
const filesSchema = z.record(z.string(), sha256Schema)

export const createdDataSchema = z.strictObject({
  layout: z.literal(layoutVersion),
  profile_id: z.string().nullable(),
  config_fingerprint: sha256Schema,
  executor: z.string().nullable(),
  revision_of: idSchema.nullable(),
  forked_from: forkedFromSchema.nullable(),
  files: filesSchema,
})
export type CreatedData = z.infer<typeof createdDataSchema>

const changedDataSchema = z.looseObject({
  from: z.enum(runStatuses),
  to: z.enum(runStatuses),
  reason: reasonSchema.nullable(),
})

/** Undefined when there are no events. */
export function fold(events: Iterable<RunEvent>): RunRecord | undefined {
  let record: RunRecord | undefined
  for (const event of events) record = apply(record, event)
  return record
}

export function apply(record: RunRecord | undefined, event: RunEvent): RunRecord {
  if (record === undefined) return created(event)
  if (isTerminal(record.status)) throw ended(record.status)
  if (event.type === 'run_created') throw illegal('the run has already been created')
  if (event.type !== 'state_changed' && event.type !== 'run_ended') return record
  return changed(record, event)
}

function created(event: RunEvent): RunRecord {
  const data = createdDataSchema.safeParse(event.data)
  if (event.type !== 'run_created' || event.seq !== 1) throw illegal('the first event must create the run')
  if (!data.success) throw illegal('the first event does not say what the run is')
  const { profile_id, config_fingerprint, layout, executor, revision_of, forked_from } = data.data
  const { session_id, task_id, run_id, timestamp } = event
  return {
    session_id,
    task_id,
    run_id,
    profile_id,
    config_fingerprint,
    status: 'pending',
    created_at: timestamp,
    updated_at: timestamp,
    started_at: null,
    completed_at: null,
    failure_reason: null,
    layout,
    executor,
    revision_of,
    forked_from,
    ...stateOf(event),
  }
}

function changed(record: RunRecord, event: RunEvent): RunRecord {
  const data = changedDataSchema.safeParse(event.data)
  if (!data.success || data.data.from !== record.status) throw illegal('the event does not begin where the run stands')
  const { to, reason } = data.data
  checkTransition(record.status, to)
  const isEnd = isTerminal(to)
  if (isEnd !== (event.type === 'run_ended')) throw illegal(`an event of type ${event.type} cannot lead to ${to}`)
  return {
    ...record,
    status: to,
    updated_at: event.timestamp,
    started_at: record.started_at ?? (to === 'running' ? event.timestamp : null),
    completed_at: isEnd ? event.timestamp : null,
    failure_reason: to === 'completed' || !isEnd ? null : reason,
    ...stateOf(event),
  }
}

const stateOf = (event: RunEvent): Pick<RunRecord, 'state_seq' | 'state_hash'> => ({
  state_seq: event.seq,
  state_hash: event.hash,
})

export function checkTransition(from: RunStatus, to: RunStatus): void {
  if (isTerminal(from)) throw ended(from)
  if (transitions[from].includes(to)) return
  throw illegal(`a run that is ${from} can only become ${transitions[from].join(', ')}`, { from, to })
}

const illegal = (cause: string, facts?: Record<string, unknown>): GloveboxError =>
  new GloveboxError('ILLEGAL_TRANSITION', `Cannot change the run: ${cause}`, facts === undefined ? {} : { facts })

export const ended = (status: RunStatus): GloveboxError =>
  new GloveboxError('RUN_ENDED', `Cannot add to the run: it has ended as ${status}`, {
    hint: 'What comes next is a new run of the same task.',
  })
