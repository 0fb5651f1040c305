// From a request to an exec in the queue: checked whole, then its files are made, then its row. A request that is refused leaves
// nothing behind; one that comes twice under one key is one exec.
import type { ExecRequest } from '../contract/exec-record.ts'
import { newExecId } from '../contract/ids.ts'
import type { ResolvedPolicy } from '../contract/policy.ts'
import { queuedExec } from '../contract/queued-exec.ts'
import type { Claim, IdempotentRequest } from '../contract/idempotency.ts'
import type { ExecRow, Store } from '../contract/store.ts'
import { inDoubt, isInDoubt } from '../errors/doubt.ts'
import { GloveboxError, isGloveboxError } from '../errors/error.ts'
import { forget, writeFirstRecord, type ForgetParts } from './accepted.ts'
import type { Boundaries } from './boundaries.ts'
import { cwdOf, wordsOf } from './command.ts'
import type { Doubts } from './doubts.ts'
import type { ExecFailpoint } from './failpoints.ts'
import { writeFiles } from './finish.ts'
import type { InputQuota } from './input-quota.ts'
import { checkInputs, type CheckedInput } from './inputs.ts'
import { artifactsPath, makeExecPlace, makeProject, type ExecName, type Making } from './layout.ts'
import { keepInputs } from './place-inputs.ts'
import { toPolicyValues, toSnapshot } from './policy-words.ts'
import { naming, refused, refusedAgain, resolveOrRefuse } from './refused.ts'
import { asStorageFault } from './storage-fault.ts'
import { needsUnrecorded } from './unrecorded.ts'
import type { Unrecorded } from './work.ts'

export interface SubmitParts extends ForgetParts {
  readonly store: Store
  readonly boundaries: Boundaries
  readonly making: Making
  readonly self: string
  readonly now: () => Date
  readonly failpoint: ExecFailpoint
  /** Throws where the queue has no room. Gives the place back when called. */
  reserve(exec: ExecName): Promise<() => void>
  keep(execId: string, unrecorded: Unrecorded): void
  readonly doubts: Pick<Doubts, 'settle'>
  readonly inputQuota: InputQuota
}

export interface Asked {
  readonly request: ExecRequest
  readonly project: string
  /** Belongs to the project. */
  readonly key?: string | undefined
  readonly bodySha256: string
  /** The caller is answered before the exec has ended, so that what is answered must be on disk. */
  readonly early: boolean
}

export interface Submitted {
  readonly row: ExecRow
  readonly isRepeated: boolean
}

type Submit = (asked: Asked) => Promise<Submitted>

/** Requests under one key wait for each other, so that the files of one are not made for the other. */
export function openSubmit(parts: SubmitParts): Submit {
  const busy = new Map<string, Promise<unknown>>()
  return async (asked) => {
    if (asked.key === undefined) return submit(parts, asked)
    const name = `${asked.project}\n${asked.key}`
    const before = busy.get(name) ?? Promise.resolve()
    const mine = before.then(
      () => submit(parts, asked),
      () => submit(parts, asked),
    )
    busy.set(name, mine)
    try {
      return await mine
    } finally {
      if (busy.get(name) === mine) busy.delete(name)
    }
  }
}

async function submit(parts: SubmitParts, asked: Asked): Promise<Submitted> {
  const repeated = await findRepeated(parts, asked)
  if (repeated !== undefined) return again(parts, asked, repeated)
  const { request, project } = asked
  const { exec } = request
  const words = wordsOf(exec)
  const cwd = cwdOf(exec.cwd)
  const env = exec.env ?? {}
  parts.boundaries.checkEnvironment(env)
  const secrets = exec.secrets ?? []
  const { names, variables } = parts.boundaries.checkSecrets(secrets)
  if (request.image !== undefined) await parts.boundaries.checkImage(request.image)
  const inputs = checkInputs(request.inputs ?? [])
  const values = valuesOf(request, names)
  const { resolved, refusal } = resolveOrRefuse(parts.boundaries, values)
  const row = newRow(parts, asked, { ...words, cwd, variables: [...Object.keys(env), ...variables], resolved })
  const giveBack = await parts.reserve(row)
  try {
    makeProject(parts.root, project, parts.making)
    if (refusal !== undefined) return await recordRefused(parts, asked, row, refusal)
    await parts.inputQuota.admit(project, inputs)
    const claim = await insert(parts, asked, row, { inputs, unrecorded: { env, secrets, values } })
    // From here on the store counts it.
    giveBack()
    return await accept(parts, asked, row, claim)
  } catch (error) {
    throw asStorageFault(error, 'take the exec')
  } finally {
    giveBack()
  }
}

/** What it does not ask for, it is not granted either. */
const valuesOf = ({ policy_overrides = {} }: ExecRequest, names: readonly string[]): Unrecorded['values'] => ({
  ...toPolicyValues(policy_overrides),
  secrets: [...names],
})

/** One that was refused is refused as long as its key is known. */
function again({ boundaries }: SubmitParts, { request }: Asked, row: ExecRow): Submitted {
  if (row.status !== 'POLICY_DENIED') return { row, isRepeated: true }
  const { names } = boundaries.checkSecrets(request.exec.secrets ?? [])
  throw refusedAgain(boundaries, valuesOf(request, names), row)
}

/** A power cut must not make two execs of one key, nor lose what was answered. */
const mustSync = ({ early, key }: Asked): boolean => early || key !== undefined

interface Inserting {
  readonly inputs: readonly CheckedInput[]
  readonly unrecorded: Unrecorded
}

async function insert(parts: SubmitParts, asked: Asked, row: ExecRow, inserting: Inserting): Promise<Claim> {
  const { inputs, unrecorded } = inserting
  try {
    makeExecPlace(parts.root, row, parts.making)
    await keepInputs(parts.root, row, inputs)
  } catch (error) {
    await forget(parts, row)
    throw error
  }
  parts.failpoint('exec.accept.beforeRow')
  parts.keep(row.exec_id, unrecorded)
  return await storeRow(parts, asked, row)
}

const storeRow = (parts: SubmitParts, asked: Asked, row: ExecRow): Promise<Claim> =>
  parts.store.execs
    .insert(row, { durability: mustSync(asked) ? 'synced' : 'written', ...keyOf(asked, row) })
    .catch((error: unknown) => insertedAfterAll(parts, row, error))

/** An exec that may be in the store may run at any moment, and keeps what it needs for that. */
async function insertedAfterAll(parts: SubmitParts, row: ExecRow, error: unknown): Promise<Claim> {
  const isThere = isInDoubt(error) && (await parts.doubts.settle(row))
  if (isThere === true) return { outcome: 'claimed' }
  if (isThere === undefined) throw error
  await forget(parts, row)
  throw isInDoubt(error) ? notTaken(error) : error
}

const notTaken = (cause: unknown): GloveboxError =>
  new GloveboxError('STORE_UNAVAILABLE', 'Cannot take the exec: the connection to the database was lost', {
    hint: 'Nothing was written. Try again in a moment.',
    cause,
  })

async function accept(parts: SubmitParts, asked: Asked, row: ExecRow, claim: Claim): Promise<Submitted> {
  if (claim.outcome !== 'claimed') return giveUp(parts, asked, row, claim)
  await writeAccepted(parts, asked, row)
  return { row, isRepeated: false }
}

/** Another request was quicker with the key. */
async function giveUp(
  parts: SubmitParts,
  asked: Asked,
  row: ExecRow,
  claim: Exclude<Claim, { readonly outcome: 'claimed' }>,
): Promise<Submitted> {
  await forget(parts, row)
  if (claim.outcome === 'mismatch') throw mismatch()
  const first = await parts.store.execs.find(claim.row.subject)
  if (first === undefined) throw new GloveboxError('CONFLICT', 'Cannot repeat the request: its exec is gone')
  return again(parts, asked, first)
}

const keyOf = ({ key, project, bodySha256 }: Asked, row: ExecRow): { readonly request?: IdempotentRequest } =>
  key === undefined
    ? {}
    : { request: { project_id: project, key, body_sha256: bodySha256, created_at: row.created_at } }

async function findRepeated(
  { store: { idempotency, execs } }: SubmitParts,
  asked: Asked,
): Promise<ExecRow | undefined> {
  if (asked.key === undefined) return undefined
  const known = await idempotency.find({ project_id: asked.project, key: asked.key })
  if (known === undefined) return undefined
  if (known.body_sha256 !== asked.bodySha256) throw mismatch()
  return execs.find(known.subject)
}

const mismatch = (): GloveboxError =>
  new GloveboxError(
    'IDEMPOTENCY_MISMATCH',
    'Cannot take the request: its Idempotency-Key came with another body before',
    {
      hint: 'Send the same body again, or choose a new key.',
    },
  )

interface Checked {
  readonly cmd: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly variables: readonly string[]
  readonly resolved: ResolvedPolicy
}

function newRow({ now, self }: SubmitParts, { request, project }: Asked, checked: Checked): ExecRow {
  const name = { project_id: project, exec_id: newExecId() }
  const said = {
    env_keys: [...new Set(checked.variables)].toSorted(),
    policy_snapshot: toSnapshot(checked.resolved.effective),
  }
  return {
    ...name,
    ...queuedExec,
    task_id: request.task_ref?.task_id ?? null,
    conversation_id: request.task_ref?.conversation_id ?? null,
    skill_id: request.skill_id ?? null,
    image: request.image ?? null,
    image_asked: request.image ?? null,
    cmd: checked.cmd,
    args: checked.args,
    cwd: checked.cwd,
    ...said,
    artifacts_path: artifactsPath(name),
    created_at: now().toISOString(),
    // What is known here alone nobody else could run it with.
    owner: needsUnrecorded(said) ? self : null,
  }
}

/**
 * A directory without meta.json is one of a request that was never accepted, and may be swept. Where it cannot be written, the
 * exec is taken back. One that somebody has claimed meanwhile is theirs: they write its record before anything runs, or end it
 * as one that could not be recorded.
 */
async function writeAccepted(parts: SubmitParts, asked: Asked, row: ExecRow): Promise<void> {
  const { root, store } = parts
  try {
    parts.failpoint('exec.accept.beforeMeta')
    await writeFirstRecord(root, row, { sync: mustSync(asked) })
  } catch (error) {
    const isWithdrawn = await store.execs.withdraw(row.exec_id, keyOf(asked, row).request).catch((fault: unknown) => {
      throw notTakenBack(row, fault)
    })
    if (!isWithdrawn) return
    await forget(parts, row)
    throw error
  }
}

/** It is in the queue, and runs when it can: to be told that nothing was written would make another one of it. */
const notTakenBack = ({ exec_id }: ExecRow, fault: unknown): unknown =>
  isGloveboxError(fault)
    ? new GloveboxError(fault.code, `Cannot record ${exec_id}, nor take it back: it may run all the same`, {
        hint: 'Look for it before you send the request again, or send it under the same Idempotency-Key.',
        facts: { ...fault.facts, ...inDoubt, exec_id },
        ...(fault.operatorDetail === undefined ? {} : { operatorDetail: fault.operatorDetail }),
        cause: fault,
      })
    : fault

/** Takes a place like any other, so that nobody makes more records at a time than others make execs. */
async function recordRefused(
  parts: SubmitParts,
  asked: Asked,
  row: ExecRow,
  refusal: GloveboxError,
): Promise<Submitted> {
  const denied = refused(row, refusal)
  try {
    makeExecPlace(parts.root, row, parts.making)
    await writeFiles({ ...parts, standIns: parts.making.standIns }, denied, false)
  } catch (error) {
    await forget(parts, row)
    throw error
  }
  const claim = await storeRow(parts, asked, denied)
  if (claim.outcome !== 'claimed') return giveUp(parts, asked, row, claim)
  throw naming(row, refusal)
}
