// What a route is: a declaration from which come the check of its input, the right that it needs, its place in the OpenAPI
// document and its tests. A module of routes is a function from what it needs to a list of such declarations:
//
//   export const execRoutes: RouteModule<ExecParts> = ({ execs }) => [
//     defineRoute({
//       method: 'get', path: '/sandbox/execs/{exec_id}', scope: 'read', tag: 'execs', summary: 'One exec.',
//       params: z.strictObject({ exec_id: execIdSchema }),
//       answers: { 200: { description: 'The record.', json: named('Exec', execSchema) } },
//       handle: async ({ params, principal }) => json(200, await execs.get(params.exec_id, principal)),
//     }),
//   ]
import type { z } from 'zod'
import type { TokenScope } from '../../contract/store.ts'
import type { ErrorCode } from '../../errors/table.ts'
import type { Answer } from './answer.ts'
import type { Principal } from './principal.ts'
import type { Attached } from './socket.ts'

export type Method = 'get' | 'post' | 'put' | 'delete'

/** A schema with the name that it has in the OpenAPI document. */
export interface NamedSchema<Schema extends z.ZodType = z.ZodType> {
  readonly name: string
  readonly schema: Schema
}

export const named = <Schema extends z.ZodType>(name: string, schema: Schema): NamedSchema<Schema> => ({ name, schema })

/** What a route may answer when all is well. */
export interface AnswerSpec {
  readonly description: string
  readonly json?: NamedSchema
  /** Bytes of any kind, with ranges. */
  readonly bytes?: true
  /** Server-sent events, each with a JSON object of this schema. */
  readonly events?: NamedSchema
  /** Other text, by its media type. */
  readonly text?: string
}

export interface RawBody {
  readonly maxBytes: number
}

export interface RouteSpec<Params, Query, Body> {
  readonly method: Method
  /** As OpenAPI writes it: `/sandboxes/{id}`. A last `{path+}` takes the rest, slashes included. */
  readonly path: `/${string}`
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** `open` needs no token; it is for health and for the page about the API. */
  readonly scope: TokenScope | 'open'
  readonly params?: z.ZodType<Params>
  /** Values come as text; a name that is not known is refused. */
  readonly query?: z.ZodType<Query>
  readonly body?: NamedSchema<z.ZodType<Body>>
  /** Default: the server's limit for JSON. */
  readonly maxBodyBytes?: number
  /** Bytes instead of JSON; read by the handler through `call.bytes()`. */
  readonly rawBody?: RawBody
  /** Request headers that the route looks at, for the document. */
  readonly headers?: Readonly<Record<string, string>>
  readonly answers: Readonly<Record<number, AnswerSpec>>
  /** Codes that callers should expect beside those of every route: the document tells each status that can be answered. */
  readonly errors?: readonly ErrorCode[]
  /** The action in the audit log, for example `sandbox.create`. Default for all but GET: tag and method. */
  readonly audit?: string
  /** It begins when its intent stands in the log, and the disk is waited for before the answer, not before the effect. Its outcome is
   * recorded behind the answer. For what ends soon and can be taken back, or lasts no longer than a power cut lets it. */
  readonly isQuick?: boolean
  /** Keeps the server and the host busy; how much of it one caller may have under way is limited while others ask for something. */
  readonly isHeavy?: boolean
  /** It ends what runs and does nothing else. Like every DELETE it is recorded on a full disk, too. */
  readonly endsOnly?: boolean
  /** Goes on while the server drains: reading, and ending what runs. Default: only GET. */
  readonly whileDraining?: boolean
  handle(call: Call<Params, Query, Body>, recording: Recording): Promise<Answer>
  /** For a request that asks for a WebSocket. What it throws is answered as HTTP, before anything is upgraded. A route with it is
   * no operation of the document, which knows none of these. */
  attach?(call: Call<Params, Query, undefined>): Promise<Attached>
}

/** How the record of a change stands, for the handler of a quick one that makes something. */
export interface Recording {
  /** Until its intent is on disk. If it never will be, what was made is taken back first; then it throws. */
  readonly whenRecorded: (takeBack: () => Promise<void>) => Promise<void>
}

/** One request, checked: the token is good for the scope, and the input fits its schemas. */
export interface Call<Params = unknown, Query = unknown, Body = unknown> {
  readonly requestId: string
  readonly principal: Principal
  readonly params: Params
  readonly query: Query
  readonly body: Body
  /** SHA-256 of method, path and the body's bytes: what an Idempotency-Key is compared by. */
  readonly bodySha256: string
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal
  readonly header: (name: string) => string | undefined
  /** One of many heavy ones that the caller wants beside others: what would only make it quicker is left out. */
  readonly isOfCrowd: boolean
  /** Resolves when nobody waits for the answer any longer: it was taken, or its reader has gone. */
  readonly taken: Promise<void>
  /** The body, or a part of it, is in memory until then, and counts for as long. */
  readonly holdBodyUntil: (over: Promise<unknown>) => void
  /** The whole raw body, bounded; only where `rawBody` is declared. */
  readonly bytes: () => Promise<Uint8Array>
}

export type Route = RouteSpec<unknown, unknown, unknown>
export type RouteModule<Parts> = (parts: Parts) => readonly Route[]

/** Infers the handler's input from the schemas, and then forgets it: a list of routes is of one type. */
export const defineRoute = <Params = undefined, Query = undefined, Body = undefined>(
  spec: RouteSpec<Params, Query, Body>,
): Route => spec
