// What comes out of a run: its events as they are written, and its files as they were recorded.
import { z } from 'zod'
import { artifactManifestSchema } from '../../../contract/artifact.ts'
import { eventSchema } from '../../../contract/event.ts'
import { idSchema, isTerminal } from '../../../contract/run.ts'
import {
  followRunEvents,
  openRunFile,
  readRunArtifacts,
  readRunEvents,
  recordedArtifact,
} from '../../../runtime/server/run-files.ts'
import type { RunHouse } from '../../../runtime/server/runs.ts'
import { bytes, empty, events, json, list, type StreamedEvent } from '../answer.ts'
import { openRecordedFiles, type RecordedFile } from '../recorded-file.ts'
import { asksForEvents } from '../request.ts'
import { defineRoute, named, type RouteModule } from '../route.ts'
import { afterEvent } from '../sse.ts'
import { runFor, runParams } from './run-words.ts'

const tag = 'runs'
const maxEvents = 1000

const event = named('RunEvent', eventSchema)
export const eventPage = named(
  'RunEventPage',
  z.strictObject({ items: z.array(eventSchema), next_after: z.int().nonnegative().nullable() }),
)
export const runArtifacts = named(
  'RunArtifacts',
  artifactManifestSchema.extend({ recorded: z.boolean().describe('False: the files as they are now.') }),
)

export const runFileRoutes: RouteModule<{ readonly runs: RunHouse }> = ({ runs }) => {
  const recordedFiles = openRecordedFiles()
  return [
    defineRoute({
      method: 'get',
      path: '/runs/{run_id}/events',
      tag,
      summary: 'The events of a run.',
      description: 'With `Accept: text/event-stream` they come as they are written, to the end of the run.',
      scope: 'read',
      params: runParams,
      query: z.strictObject({
        after: z.coerce.number().int().nonnegative().optional().describe('Begin behind this seq.'),
        limit: z.coerce.number().int().positive().optional(),
      }),
      headers: {
        Accept: '`application/json` for a page, `text/event-stream` to follow.',
        'Last-Event-ID': 'The seq of the last event that was read.',
      },
      answers: {
        200: { description: 'In order, without a gap.', json: eventPage, events: event },
        204: { description: 'The last event was read already.' },
      },
      errors: ['RECORD_DAMAGED'],
      handle: async ({ params, query, principal, header }) => {
        const { directory, status } = await runFor(runs, params.run_id, principal)
        const last = header('last-event-id')
        // Whoever comes back to an address asks it as before: what it has read since counts.
        const after = last === undefined ? (query.after ?? 0) : afterEvent(last)
        if (asksForEvents(header('accept'))) {
          const hasReadAll = last !== undefined && isTerminal(status) && !(await hasEvents(directory, after))
          return hasReadAll ? empty() : events((signal) => followed(directory, after, signal))
        }
        return json(
          200,
          await readRunEvents(directory, { after, limit: Math.min(query.limit ?? maxEvents, maxEvents) }),
        )
      },
    }),
    defineRoute({
      method: 'get',
      path: '/runs/{run_id}/artifacts',
      tag,
      summary: 'The files of a run.',
      scope: 'read',
      params: runParams,
      answers: { 200: { description: 'As recorded at its end; before, as they are now.', json: runArtifacts } },
      handle: async ({ params, principal }) => {
        const { directory } = await runFor(runs, params.run_id, principal)
        const { manifest, isRecorded } = await readRunArtifacts(directory)
        const told = { ...manifest, recorded: isRecorded }
        return list(told, 'entries')
      },
    }),
    defineRoute({
      method: 'get',
      path: '/runs/{run_id}/artifacts/{path+}',
      tag,
      summary: 'One file of a run.',
      description:
        'Spelt as in the list: `deliverables/report.md`. What is not as it was recorded is refused with ARTIFACT_CHANGED, also in part. What was not recorded is served as it is: while the run goes on, and of a list that is not complete what it left out or has no hash of.',
      scope: 'read',
      params: z.strictObject({ run_id: idSchema, path: z.string().min(1).max(4096) }),
      headers: { Range: 'One range of bytes.' },
      answers: {
        200: { description: 'All of it.', bytes: true },
        206: { description: 'The range.', bytes: true },
      },
      errors: [
        'INVALID_PATH',
        'LINK_REFUSED',
        'NOT_A_FILE',
        'IS_A_DIRECTORY',
        'ARTIFACT_CHANGED',
        'RECORD_DAMAGED',
        'RANGE_NOT_SATISFIABLE',
      ],
      handle: async ({ params, principal, header }) => {
        const { directory } = await runFor(runs, params.run_id, principal)
        return bytes(await recordedFiles.serve(await openRecorded(directory, params.path)), header('range'))
      },
    }),
  ]
}

const hasEvents = async (directory: string, after: number): Promise<boolean> =>
  (await readRunEvents(directory, { after, limit: 1 })).items.length > 0

async function* followed(directory: string, after: number, signal: AbortSignal): AsyncGenerator<StreamedEvent> {
  for await (const each of followRunEvents(directory, { after, signal }))
    yield { id: String(each.seq), event: each.type, data: each }
}

async function openRecorded(directory: string, path: string): Promise<RecordedFile> {
  const file = openRunFile(directory, path)
  try {
    const recorded = await recordedArtifact(directory, file.path)
    return { fd: file.fd, path: file.path, recorded, hint: '`glovebox runs verify` tells more.' }
  } catch (error) {
    file.close()
    throw error
  }
}
