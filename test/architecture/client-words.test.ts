// The client writes down by hand what a server takes and answers, since it may load no schemas. The compiler holds each of these interfaces
// to the schema of its route, in both directions: a field that one of them has and the other has not, or has otherwise, is an error of
// `tsc`, which reads tests too.
import type { z } from 'zod'
import { describe, expect, it } from 'vitest'
import type { ExecFilter } from '../../src/client/execs.ts'
import type { PageOptions } from '../../src/client/pages.ts'
import type {
  PoolStats,
  ProvisionRequest,
  RemoteProvisioned,
  SandboxDetail,
  SandboxState,
  SandboxSummary,
  SandboxUsage,
  SnapshotFilter,
  SnapshotSummary,
  Snapshots,
} from '../../src/client/lifetimes.ts'
import type { RunCreateRequest, RunDetail, RunFilter, RunQuestion, Runs, RunSummary } from '../../src/client/runs.ts'
import type { SandboxFilter, Sandboxes, SandboxRequest } from '../../src/client/sandbox.ts'
import type { execQuery } from '../../src/server/http/routes/execs.ts'
import type { poolStats } from '../../src/server/http/routes/health.ts'
import type {
  forkRequest,
  forks,
  renewRequest,
  sandboxUsage,
  snapshotQuery,
  snapshotRequest,
  snapshotShape,
} from '../../src/server/http/routes/lifetime-words.ts'
import type { provisioned, provisionRequest } from '../../src/server/http/routes/provision.ts'
import type { eventPage, runArtifacts } from '../../src/server/http/routes/run-files.ts'
import type { runDetail, runSummary } from '../../src/server/http/routes/run-words.ts'
import type {
  runAnswer,
  runAnswered,
  runApproval,
  runQuery,
  runRequest,
  runRevision,
} from '../../src/server/http/routes/runs.ts'
import type { sandboxDetail, sandboxSummary } from '../../src/server/http/routes/sandbox-words.ts'
import type { sandboxQuery, sandboxRequest } from '../../src/server/http/routes/sandboxes.ts'
import { readSources } from './sources.ts'

type Schema = { readonly schema: z.ZodType }
type Taken<Named extends Schema> = z.input<Named['schema']>
type Answered<Named extends Schema> = z.output<Named['schema']>

const nothing = {} as const
type Nothing = typeof nothing

/** An id is text on the wire, whatever the type says of how it begins. A list is one, whoever may change it. That a field may be left out is made a
 * part of its type: to the compiler an object without it would be assignable either way. */
type Plain<T> = unknown extends T
  ? unknown
  : T extends string
    ? Nothing extends Record<T, 1>
      ? string
      : T
    : T extends number | boolean | null | undefined
      ? T
      : T extends readonly (infer Item)[]
        ? readonly Plain<Item>[]
        : {
            [Key in keyof T]-?: Nothing extends Pick<T, Key>
              ? { readonly mayBeLeftOut: Plain<Exclude<T[Key], undefined>> }
              : Plain<T[Key]>
          }

type Same<One, Other> = [Plain<One>] extends [Plain<Other>]
  ? [Plain<Other>] extends [Plain<One>]
    ? true
    : false
  : false

/** Without what every list takes, and without what stays with the client. */
type Filter<Query> = Omit<Query, keyof PageOptions>
type Options<Call extends (...args: never[]) => unknown, Place extends number> = Omit<
  NonNullable<Parameters<Call>[Place]>,
  'signal'
>
type Told<Call extends (...args: never[]) => unknown> = Awaited<ReturnType<Call>>
/** As `runs.approve` sends it. */
type Decided<Asked> = Asked extends { readonly message?: infer Message; readonly acceptChanges?: infer Accepted }
  ? { readonly message?: Message; readonly accept_changes?: Accepted }
  : never

/** The compiler refuses a word of which the two sides differ, and names it. */
type Held<Words extends { readonly [Word in keyof Words]: true }> = Words
type Differing<Words extends { readonly [Word in keyof Words]: false }> = Words

export type Words = Held<{
  readonly 'a sandbox is asked for': Same<SandboxRequest, Taken<typeof sandboxRequest>>
  readonly 'sandboxes are filtered': Same<
    SandboxFilter,
    Omit<Filter<z.output<typeof sandboxQuery>>, 'state'> & { readonly states?: z.output<typeof sandboxQuery>['state'] }
  >
  readonly 'a sandbox of a list': Same<SandboxSummary, Answered<typeof sandboxSummary>>
  readonly 'a sandbox': Same<SandboxDetail, Answered<typeof sandboxDetail>>
  readonly 'how a sandbox stands': Same<SandboxState, Answered<typeof sandboxSummary>['state']>
  readonly 'provisioning is asked for': Same<ProvisionRequest, Taken<typeof provisionRequest>>
  readonly provisioning: Same<RemoteProvisioned, Answered<typeof provisioned>>
  readonly 'a renewal is asked for': Same<
    { readonly lifeMs: Parameters<Sandboxes['renew']>[1] },
    Taken<typeof renewRequest>
  >
  readonly 'forks are asked for': Same<Options<Sandboxes['fork'], 1>, Taken<typeof forkRequest>>
  readonly forks: Same<Told<Sandboxes['fork']>, Answered<typeof forks>['items']>
  readonly 'what a sandbox costs': Same<SandboxUsage, Answered<typeof sandboxUsage>>
  readonly 'the pool': Same<PoolStats, Answered<typeof poolStats>>
  readonly 'a snapshot is asked for': Same<Options<Snapshots['create'], 1>, Taken<typeof snapshotRequest>>
  readonly 'snapshots are filtered': Same<Filter<SnapshotFilter>, Filter<z.output<typeof snapshotQuery>>>
  readonly 'a snapshot': Same<SnapshotSummary, Answered<typeof snapshotShape>>
  readonly 'a run is asked for': Same<RunCreateRequest, Taken<typeof runRequest>>
  readonly 'runs are filtered': Same<RunFilter, Filter<z.output<typeof runQuery>>>
  readonly 'a run of a list': Same<RunSummary, Answered<typeof runSummary>>
  readonly 'a run': Same<RunDetail, Answered<typeof runDetail>>
  readonly 'a question of a run': Same<RunQuestion, Answered<typeof runDetail>['questions'][number]>
  readonly 'events of a run': Same<Told<Runs['eventPage']>, Answered<typeof eventPage>>
  readonly 'artifacts of a run': Same<Told<Runs['artifacts']>, Answered<typeof runArtifacts>>
  readonly 'an answer is given': Same<
    { readonly text: Parameters<Runs['answer']>[1] } & Options<Runs['answer'], 2>,
    Taken<typeof runAnswer>
  >
  readonly 'what came of an answer': Same<Told<Runs['answer']>, Answered<typeof runAnswered>>
  readonly 'a run is approved': Same<Decided<Options<Runs['approve'], 1>>, Taken<typeof runApproval>>
  readonly 'a run is sent back': Same<{ readonly message: Parameters<Runs['revise']>[1] }, Taken<typeof runRevision>>
  readonly 'execs are filtered': Same<ExecFilter, Filter<z.output<typeof execQuery>>>
}>

/** What the comparison must see. */
export type Controls = Differing<{
  readonly 'a field that the other has not': Same<{ readonly a: 1 }, { readonly a: 1; readonly b: 1 }>
  readonly 'a field that the other has not, and that may be left out': Same<
    { readonly a: 1 },
    { readonly a: 1; readonly b?: 1 }
  >
  readonly 'a field that only one may leave out': Same<{ readonly a: 1 }, { readonly a?: 1 }>
  readonly 'a field of another name': Same<{ readonly a?: 1 }, { readonly b?: 1 }>
  readonly 'a word more': Same<{ readonly a: 'x' }, { readonly a: 'x' | 'y' }>
  readonly 'any word': Same<{ readonly a: 'x' }, { readonly a: string }>
  readonly 'nothing instead of a word': Same<{ readonly a: string }, { readonly a: string | null }>
  readonly 'the same in a list': Same<readonly { readonly a: 1 }[], { readonly a: 1; readonly b?: 1 }[]>
}>

/** What is a way to call, or only the client's own. */
const notOnTheWire = new Set([
  'Execs',
  'ExecCreateOptions',
  'ExecRunOptions',
  'Lifetimes',
  'Runs',
  'Sandboxes',
  'Snapshots',
  'StreamedExecEvent',
  'StreamOptions',
])

describe('words of the client', () => {
  const files = new Set(['execs', 'lifetimes', 'runs', 'sandbox'].map((name) => `src/client/${name}.ts`))

  it('are all held to the schemas of routes, above', () => {
    const own = readSources('test').find(({ path }) => path.endsWith('client-words.test.ts'))?.code ?? ''
    const declared = readSources('src')
      .filter(({ path }) => files.has(path))
      .flatMap(({ code }) => [...code.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name = '']) => name))
    expect(declared.length).toBeGreaterThan(20)
    const compared = own.slice(own.indexOf('Held<{'))
    const missing = declared.filter((name) => !notOnTheWire.has(name) && !new RegExp(`\\b${name}\\b`).test(compared))
    expect(missing).toEqual([])
  })
})
