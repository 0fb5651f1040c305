// Who a new run is: ids that the caller gave, checked, and made ones for the rest.
import { lstatSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { z } from 'zod'
import { deliverableSchema, forkedFromSchema, idSchema, newRunId, newSessionId, newTaskId } from '../contract/run.ts'
import { GloveboxError } from '../errors/error.ts'
import { deliverableNames } from './deliverables.ts'
import { onTheWay } from './place.ts'
import type { CreateRunOptions } from './run.ts'

export interface Identity {
  readonly runId: string
  readonly sessionId: string
  readonly taskId: string
}

export function identify(options: CreateRunOptions): Identity {
  const identity = {
    runId: given('run id', options.runId) ?? newRunId(),
    sessionId: given('session id', options.sessionId) ?? newSessionId(),
    taskId: given('task id', options.taskId) ?? newTaskId(),
  }
  given('id of the run that is done again', options.revisionOf ?? undefined)
  if (options.forkedFrom) check('origin of the fork', forkedFromSchema, options.forkedFrom)
  for (const deliverable of options.deliverables ?? []) checkDeliverable(deliverable)
  refuseTaken(identity.runId, options.sandboxPath)
  return identity
}

const given = (what: string, id: string | undefined): string | undefined =>
  id === undefined ? undefined : check(what, idSchema, id)

function check<Schema extends z.ZodType>(what: string, schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new GloveboxError(
    'INVALID_INPUT',
    `Cannot create the run: the ${what} ${parsed.error.issues[0]?.message ?? ''}`,
  )
}

function checkDeliverable(value: unknown): void {
  const { path } = check('description of a deliverable', deliverableSchema, value)
  if (deliverableNames(path) !== undefined) return
  throw new GloveboxError(
    'INVALID_INPUT',
    'Cannot create the run: a required deliverable must lie below deliverables/',
    {
      hint: 'Write it as report.md, deliverables/report.md or /deliverables/report.md.',
      facts: { path },
    },
  )
}

/** Runs lie beside each other under their ids, unless a caller chose another name for this one. */
function refuseTaken(runId: string, sandboxPath: string): void {
  const place = join(dirname(resolve(sandboxPath)), runId)
  if (onTheWay(() => lstatSync(place, { throwIfNoEntry: false })) === undefined) return
  throw new GloveboxError('ALREADY_EXISTS', `Cannot create the run: a run ${runId} already exists`, {
    hint: 'Choose another run id. A run is never written over.',
    operatorDetail: place,
  })
}
