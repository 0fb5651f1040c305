// Execs: one command each, with a record. The answer waits for the end of the command unless it is told not to; the command goes on
// whatever happens to the connection.
import { closeSync, fstatSync } from 'node:fs'
import { z } from 'zod'
import {
  execArtifactsSchema,
  execEventSchema,
  execHealthSchema,
  execIdSchema,
  execRecordSchema,
  execRequestSchema,
  skillIdSchema,
  type ExecRequest,
} from '../../../contract/exec-record.ts'
import { idSchema } from '../../../contract/run.ts'
import { execStatuses, hasEnded, type ExecRow, type PageRequest } from '../../../contract/store.ts'
import { GloveboxError } from '../../../errors/error.ts'
import { beginning, isOver, parseCursor } from '../../../execs/cursor.ts'
import type { Execs } from '../../../execs/execs.ts'
import type { ServedExecs } from '../../../runtime/server/execs.ts'
import { bytes, empty, events, json, list, type Answer, type ServedBytes, type StreamedEvent } from '../answer.ts'
import { answerPage, pageQuery, type Lister } from '../cursor.ts'
import { sha256OfJson } from '../json-pieces.ts'
import { notFound, projectFor, visibleProject, type Principal } from '../principal.ts'
import { readRange } from '../read-range.ts'
import { openRecordedFiles } from '../recorded-file.ts'
import { defineRoute, named, type RouteModule } from '../route.ts'
import { keysKept } from './once-request.ts'

export interface ExecParts {
  readonly execs: ServedExecs
  readonly lister: Lister
}

const tag = 'execs'
const maxBodyBytes = 32 * 1024 * 1024
/** A page is made in one turn of the event loop, for which all others wait. */
const mostPageText = 4 * 1024 * 1024
const exec = named('Exec', execRecordSchema)
export const execQuery = z.strictObject({
  project_id: idSchema.optional(),
  task_id: idSchema.optional(),
  conversation_id: idSchema.optional(),
  skill_id: skillIdSchema.optional(),
  status: z.enum(execStatuses).optional(),
  ...pageQuery,
})
const page = named('ExecPage', z.strictObject({ items: z.array(execRecordSchema), next_cursor: z.string().nullable() }))
const artifacts = named('ExecArtifacts', execArtifactsSchema)
const event = named('ExecEvent', execEventSchema)
const params = z.strictObject({ exec_id: execIdSchema })
const keyForm = /^[\x21-\x7e]{1,255}$/

export const execRoutes: RouteModule<ExecParts> = ({ execs: served, lister }) => {
  const { execs } = served
  const recordedFiles = openRecordedFiles()
  const get = async (execId: string, principal: Principal): Promise<ExecRow> => {
    const row = await execs.find(execId)
    // SECURITY: an exec of another project is told as one that does not exist.
    // test/e2e/execs-identity: "an exec of another project is not found, by any verb"
    if (row === undefined || (principal.project !== null && principal.project !== row.project_id))
      throw notFound('exec')
    return row
  }
  const output = async (
    name: 'stdout.txt' | 'stderr.txt',
    execId: string,
    principal: Principal,
  ): Promise<ServedBytes> => {
    const row = await get(execId, principal)
    return serveRecord((await execs.openArtifact(row, name, 'server')).fd, name)
  }

  return [
    defineRoute({
      method: 'post',
      path: '/sandbox/execs',
      tag,
      audit: 'exec.run',
      summary: 'Run a command in a sandbox of its own.',
      description:
        'The command sees `/workspace/inputs` (read-only), `/workspace/work` and `/workspace/artifacts`. A command that fails is a result, not an error. Under one `Idempotency-Key` there is one exec, however often it is sent.',
      scope: 'exec',
      query: z.strictObject({ wait: z.enum(['true', 'false']).optional() }),
      body: named('ExecRequest', execRequestSchema),
      maxBodyBytes,
      headers: { 'Idempotency-Key': `One exec for all requests of the project with this key and body. ${keysKept}` },
      answers: {
        200: { description: 'It has ended.', json: exec },
        202: { description: 'It is in the queue, or runs.', json: exec },
      },
      errors: [
        'INVALID_PATH',
        'INVALID_ENV',
        'POLICY_ESCALATION',
        'POLICY_DENIED',
        'IDEMPOTENCY_MISMATCH',
        'QUOTA_EXCEEDED',
        'NO_SPACE',
        'DISK_READ_ONLY',
        'DRAINING',
      ],
      handle: async ({ body, query, principal, header, signal }) => {
        const waits = query.wait !== 'false'
        const key = header('idempotency-key')
        if (key !== undefined && !keyForm.test(key))
          throw new GloveboxError(
            'INVALID_INPUT',
            'Cannot take the Idempotency-Key: it is not 1 to 255 visible characters',
          )
        const { row } = await execs.submit({
          request: body,
          project: chosenProject(body, principal),
          key,
          // Of what was asked for, and not of how it was written; whether the answer waits is no part of it. Without a key, of nothing.
          bodySha256: key === undefined ? '' : await sha256OfJson('POST /sandbox/execs', body),
          early: !waits,
        })
        return answerExec(execs, waits ? await execs.wait(row.exec_id, signal) : row)
      },
    }),
    defineRoute({
      method: 'get',
      path: '/sandbox/execs',
      tag,
      summary: 'List execs.',
      scope: 'read',
      query: execQuery,
      answers: {
        200: {
          description: 'Newest first. A page ends sooner than was asked for where its execs have long commands.',
          json: page,
        },
      },
      errors: ['INVALID_CURSOR'],
      handle: async ({ query, principal }) => {
        const { project_id, status, limit, cursor, ...filter } = query
        const wanted = {
          ...filter,
          project_id: visibleProject(principal, project_id),
          status: status === undefined ? undefined : [status],
        }
        const look = (asked: PageRequest) => execs.list(wanted, { ...asked, mostText: mostPageText })
        const asked = { list: tag, principal, query: { limit, cursor } }
        return json(200, await answerPage(lister, asked, look, (row) => execs.record(row)))
      },
    }),
    defineRoute({
      method: 'get',
      path: '/sandbox/execs/{exec_id}',
      tag,
      summary: 'One exec.',
      scope: 'read',
      params,
      answers: { 200: { description: 'Its record.', json: exec } },
      handle: async ({ params: { exec_id }, principal }) => json(200, execs.record(await get(exec_id, principal))),
    }),
    defineRoute({
      method: 'get',
      path: '/sandbox/execs/{exec_id}/stream',
      tag,
      summary: 'Follow an exec: its states and its output.',
      description:
        'From the beginning, or behind `Last-Event-ID`: every byte that was kept, once. The last event is `end`; a reader that has it already is answered with 204. An id that the stream cannot have given, as one behind what was kept, is refused.',
      scope: 'read',
      params,
      headers: { 'Last-Event-ID': 'The id of the last event that was read.' },
      answers: {
        200: { description: 'Until the exec has ended.', events: event },
        204: { description: 'There is nothing behind `Last-Event-ID`.' },
      },
      errors: ['INVALID_CURSOR'],
      handle: async ({ params: { exec_id }, principal, header }) => {
        const row = await get(exec_id, principal)
        const last = header('last-event-id')
        const from = last === undefined ? beginning : parseCursor(last)
        execs.refuseBeyond(row, from)
        return isOver(from) ? empty() : events((signal) => told(execs.stream(exec_id, from, signal)))
      },
    }),
    defineRoute({
      method: 'post',
      path: '/sandbox/execs/{exec_id}/cancel',
      tag,
      audit: 'exec.cancel',
      summary: 'End an exec and all that it started.',
      description: 'One that has ended stays as it is.',
      scope: 'exec',
      endsOnly: true,
      whileDraining: true,
      params,
      answers: {
        200: { description: 'It has ended.', json: exec },
        202: { description: 'Another server works on it, and has been told.', json: exec },
      },
      handle: async ({ params: { exec_id }, principal }) => {
        await get(exec_id, principal)
        const row = await execs.cancel(exec_id)
        if (row === undefined) throw notFound('exec')
        return answerExec(execs, row)
      },
    }),
    ...(['stdout', 'stderr'] as const).map((stream) =>
      defineRoute({
        method: 'get',
        path: `/sandbox/execs/{exec_id}/${stream}`,
        tag,
        summary: `What the command wrote on its standard ${stream === 'stdout' ? 'output' : 'error'}, as far as it was kept.`,
        scope: 'read',
        params,
        headers: { Range: 'One range of bytes.' },
        answers: { 200: { description: 'All of it.', bytes: true }, 206: { description: 'The range.', bytes: true } },
        errors: ['RANGE_NOT_SATISFIABLE'],
        handle: async ({ params: { exec_id }, principal, header }) =>
          bytes(await output(`${stream}.txt`, exec_id, principal), header('range')),
      }),
    ),
    defineRoute({
      method: 'get',
      path: '/sandbox/execs/{exec_id}/artifacts',
      tag,
      summary: 'List the files of an exec: the records of the server, and what the command left.',
      scope: 'read',
      params,
      answers: { 200: { description: 'Without hashes of the command’s files while it runs.', json: artifacts } },
      handle: async ({ params: { exec_id }, principal }) =>
        list(await execs.artifacts(await get(exec_id, principal)), 'entries'),
    }),
    defineRoute({
      method: 'get',
      path: '/sandbox/execs/{exec_id}/artifacts/{path+}',
      tag,
      summary: 'One file of an exec.',
      description:
        'Where the command left a file with the name of a record, `by=guest` asks for that one. When the exec has ended, what is not as it was recorded then, or was not recorded, is refused with ARTIFACT_CHANGED, also in part; and with RECORD_DAMAGED where its manifest.json cannot be read.',
      scope: 'read',
      params: z.strictObject({ exec_id: execIdSchema, path: z.string().min(1).max(4096) }),
      query: z.strictObject({ by: z.enum(['server', 'guest']).optional() }),
      headers: { Range: 'One range of bytes.' },
      answers: { 200: { description: 'All of it.', bytes: true }, 206: { description: 'The range.', bytes: true } },
      errors: [
        'INVALID_PATH',
        'LINK_REFUSED',
        'NOT_A_FILE',
        'IS_A_DIRECTORY',
        'NOT_A_DIRECTORY',
        'ARTIFACT_CHANGED',
        'RECORD_DAMAGED',
        'RANGE_NOT_SATISFIABLE',
      ],
      handle: async ({ params: { exec_id, path }, query: { by }, principal, header }) => {
        const row = await get(exec_id, principal)
        const { fd, by: owner, recorded } = await execs.openArtifact(row, path, by)
        if (owner === 'server') return bytes(serveRecord(fd, path), header('range'))
        return bytes(await recordedFiles.serve({ fd, path, recorded, hint: changedHint }), header('range'))
      },
    }),
    defineRoute({
      method: 'get',
      path: '/sandbox/health',
      tag,
      summary: 'Where execs run, and whether they can.',
      scope: 'read',
      answers: {
        200: {
          description: 'Runtime mode, workspace, Docker, backends and queue.',
          json: named('ExecHealth', execHealthSchema),
        },
      },
      handle: async () => json(200, await served.health()),
    }),
  ]
}

const answerExec = (execs: Execs, row: ExecRow): Answer =>
  json(hasEnded(row.status) ? 200 : 202, execs.record(row), { location: `/sandbox/execs/${row.exec_id}` })

/** A token of one project makes execs there; one of all where it says, and else by the conversation. */
function chosenProject({ project_id, task_ref }: ExecRequest, principal: Principal): string {
  if (project_id !== undefined || principal.project !== null) return projectFor(principal, project_id)
  return projectFor(principal, task_ref?.conversation_id)
}

async function* told(source: ReturnType<Execs['stream']>): AsyncGenerator<StreamedEvent> {
  for await (const { id, event: data } of source) yield { id, event: data.type, data }
}

const changedHint = 'Something on the host has changed it since. Run the exec again.'

/** Of the server's own: it grows while the exec runs. */
function serveRecord(fd: number, name: string): ServedBytes {
  const { size, ino, mtimeMs } = fstatSync(fd)
  return {
    sizeBytes: size,
    tag: `${ino.toString(36)}-${size.toString(36)}-${Math.round(mtimeMs * 1000).toString(36)}`,
    name,
    read: (range) => readRange(fd, range),
    close: () => closeSync(fd),
  }
}
