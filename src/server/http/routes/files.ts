// Files of a sandbox as bytes: downloads with ranges, uploads that replace or append, and what is needed to find one's way.
// Everything goes through the named actions, so what may be read and written is decided in one place for all faces.
import { z } from 'zod'
import { listDir } from '../../../actions/list-dir.ts'
import { stat as statAction } from '../../../actions/stat.ts'
import type { Sandbox } from '../../../contract/sandbox.ts'
import { GloveboxError } from '../../../errors/error.ts'
import type { SandboxHouse } from '../../../runtime/server/sandboxes.ts'
import { bytes, empty, json, type ServedBytes } from '../answer.ts'
import { defineRoute, named, type RouteModule } from '../route.ts'
import { hostedFor, sandboxParams } from './sandbox-words.ts'

const tag = 'files'
const partBytes = 1024 * 1024
const maxUploadBytes = 16 * 1024 * 1024

const path = z.string().min(1).max(4096)
const yes = z.enum(['true', 'false']).transform((word) => word === 'true')
const pathQuery = z.strictObject({ path })
const fileErrors = [
  'INVALID_PATH',
  'OUTSIDE_MOUNTS',
  'LINK_REFUSED',
  'NOT_A_FILE',
  'READ_ONLY',
  'PROTECTED',
  'VAULT',
] as const

const stat = named('FileStat', statAction.output)
const listing = named('FileList', listDir.output)
const written = named('FileWritten', z.strictObject({ path: z.string(), sizeBytes: z.int().nonnegative() }))

export const fileRoutes: RouteModule<{ readonly house: SandboxHouse }> = ({ house }) => [
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}/files',
    tag,
    summary: 'Read a file.',
    description:
      'Of one state of it: when it is changed or replaced meanwhile, the connection is cut. Another `ETag` is another state.',
    scope: 'read',
    params: sandboxParams,
    query: pathQuery,
    headers: { Range: 'One range of bytes.' },
    answers: {
      200: { description: 'All of it.', bytes: true },
      206: { description: 'The range.', bytes: true },
    },
    errors: [...fileErrors, 'RANGE_NOT_SATISFIABLE', 'IS_A_DIRECTORY'],
    handle: async ({ params, query, principal, header }) => {
      const { sandbox } = hostedFor(house, params.sandbox_id, principal)
      return bytes(await openFile(sandbox, query.path), header('range'))
    },
  }),
  defineRoute({
    method: 'put',
    path: '/sandboxes/{sandbox_id}/files',
    tag,
    audit: 'file.write',
    summary: 'Write a file.',
    description:
      'The body is its bytes; without one it has none. It is replaced at once, or with `append` grows; missing directories are made.',
    scope: 'exec',
    params: sandboxParams,
    query: z.strictObject({
      path,
      append: yes.optional(),
      expected_sha256: z
        .string()
        .regex(/^(?:[0-9a-f]{64}|none)$/, 'must be a SHA-256 in small hexadecimal digits, or none')
        .optional()
        .describe('Refuse unless the present content has this hash; `none`: unless there is no file.'),
    }),
    rawBody: { maxBytes: maxUploadBytes },
    answers: { 200: { description: 'It is written.', json: written } },
    errors: [...fileErrors, 'CONFLICT', 'NO_SPACE', 'QUOTA_EXCEEDED'],
    handle: async (call) => {
      const { path: place, append, expected_sha256 } = call.query
      const { sandbox, takeUpload } = hostedFor(house, call.params.sandbox_id, call.principal)
      const content = await call.bytes()
      takeUpload(content.length)
      if (append === true && expected_sha256 !== undefined)
        throw new GloveboxError('INVALID_INPUT', 'Cannot write: append and expected_sha256 exclude each other')
      await sandbox.files.write(place, content, {
        ...(append === undefined ? {} : { append }),
        ...(expected_sha256 === undefined
          ? {}
          : { expectedSha256: expected_sha256 === 'none' ? null : expected_sha256 }),
      })
      const { sizeBytes, path: real } = await sandbox.files.stat(place)
      return json(200, { path: real, sizeBytes })
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/sandboxes/{sandbox_id}/files',
    tag,
    audit: 'file.remove',
    summary: 'Remove a file or directory.',
    description: 'Only where the policy allows `delete`.',
    scope: 'exec',
    params: sandboxParams,
    query: z.strictObject({ path, recursive: yes.optional() }),
    answers: { 204: { description: 'It is gone.' } },
    errors: [...fileErrors, 'POLICY_DENIED', 'NOT_EMPTY'],
    handle: async ({ params, query, principal }) => {
      const { sandbox } = hostedFor(house, params.sandbox_id, principal)
      await sandbox.files.remove(query.path, query.recursive === undefined ? {} : { recursive: query.recursive })
      return empty()
    },
  }),
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}/files/stat',
    tag,
    summary: 'What is at a path. A link is shown, not followed.',
    scope: 'read',
    params: sandboxParams,
    query: pathQuery,
    answers: { 200: { description: 'Kind, size, time and mode.', json: stat } },
    errors: fileErrors,
    handle: async ({ params, query, principal }) =>
      json(200, await hostedFor(house, params.sandbox_id, principal).sandbox.files.stat(query.path)),
  }),
  defineRoute({
    method: 'get',
    path: '/sandboxes/{sandbox_id}/files/list',
    tag,
    summary: 'The entries of a directory.',
    scope: 'read',
    params: sandboxParams,
    query: z.strictObject({ path: path.optional() }),
    answers: { 200: { description: 'Sorted by name; says when it is cut.', json: listing } },
    errors: [...fileErrors, 'NOT_A_DIRECTORY'],
    handle: async ({ params, query, principal }) =>
      json(200, await hostedFor(house, params.sandbox_id, principal).sandbox.files.list(query.path)),
  }),
]

async function openFile(sandbox: Sandbox, place: string): Promise<ServedBytes> {
  const found = await sandbox.files.stat(place)
  // The first read tells the size of what a link leads to, and refuses what is no file.
  const { sizeBytes, version } = await readPart(sandbox, { place, offset: 0, maxBytes: 1 })
  return {
    sizeBytes,
    tag: version,
    name: found.path.split('/').at(-1) ?? 'file',
    read: ({ start, end }) => parts(sandbox, { place, start, end, version }),
  }
}

interface Part {
  readonly bytes: Uint8Array
  readonly sizeBytes: number
  readonly version: string
}

async function readPart(
  sandbox: Sandbox,
  { place, offset, maxBytes }: { readonly place: string; readonly offset: number; readonly maxBytes: number },
): Promise<Part> {
  const input = { path: place, offset, maxBytes, partial: true, versioned: true }
  const { base64, ...rest } = (await sandbox.execute('read_bytes', input)) as Omit<Part, 'bytes'> & { base64: string }
  return { ...rest, bytes: Buffer.from(base64, 'base64') }
}

interface Reading {
  readonly place: string
  readonly start: number
  readonly end: number
  readonly version: string
}

async function* parts(sandbox: Sandbox, { place, start, end, version }: Reading): AsyncGenerator<Uint8Array> {
  for (let offset = start; offset <= end;) {
    const part = await readPart(sandbox, { place, offset, maxBytes: Math.min(partBytes, end + 1 - offset) })
    // SECURITY: each part is found by its name again, and the guest may have put another file there. What was promised cannot be kept,
    // and the reader must see that. test/e2e/server-downloads: "a file that is replaced while it is read is cut, and never a mixture"
    if (part.version !== version || part.bytes.length === 0)
      throw new GloveboxError('CONFLICT', 'Cannot read further: the file was changed or replaced')
    offset += part.bytes.length
    yield part.bytes
  }
}
