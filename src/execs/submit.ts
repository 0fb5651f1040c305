// From a request to an exec in the queue: checked whole, then its files are made, then its row. A request that is refused leaves
// nothing behind; one that comes twice under one key is one exec.
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ExecRequest } from '../contract/exec-record.ts'
import { newExecId } from '../contract/ids.ts'
import type { ResolvedPolicy } from '../contract/policy.ts'
import { queuedExec } from '../contract/queued-exec.ts'
import type { Claim } from '../contract/idempotency.ts'
import type { ExecRow, Store } from '../contract/store.ts'
import { GloveboxError, isGloveboxError } from '../errors/error.ts'
import type { Boundaries } from './boundaries.ts'
import { cwdOf, wordsOf } from './command.ts'
import { syncDirectory, writeFiles } from './finish.ts'
import { checkInputs, writeInputs } from './inputs.ts'
import {
  artifactsPath,
  execPlace,
  inputsPlace,
  makeExecPlace,
  makeProject,
  type ExecName,
  type Making,
} from './layout.ts'
import { toPolicyValues, toSnapshot } from './policy-words.ts'
import { writeFirstMeta } from './record.ts'
import { asStorageFault } from './storage-fault.ts'
import type { Unrecorded } from './work.ts'

export interface SubmitParts {
  readonly root: string
  readonly store: Store
  readonly boundaries: Boundaries
  readonly making: Making
  readonly self: string
  readonly now: () => Date
  /** Throws where the queue has no room. Gives the place back when called. */
  reserve(exec: ExecName): Promise<() => void>
  keep(execId: string, unrecorded: Unrecorded): void
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
  if (repeated !== undefined) return { row: repeated, isRepeated: true }
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
  // What it does not ask for, it is not granted either.
  const values = { ...toPolicyValues(request.policy_overrides ?? {}), secrets: [...names] }
  const { resolved, refusal } = resolveOrRefuse(parts.boundaries, values)
  const row = newRow(parts, asked, { ...words, cwd, variables: [...Object.keys(env), ...variables], resolved })
  if (refusal !== undefined) throw await recordDenied(parts, row, refusal)
  const giveBack = await parts.reserve(row)
  try {
    makeProject(parts.root, project, parts.making)
    await writeInputs(inputsPlace(parts.root, project), inputs)
    const claim = await insert(parts, asked, row, { env, secrets, values })
    // From here on the store counts it.
    giveBack()
    return await accept(parts, asked, row, claim)
  } catch (error) {
    throw asStorageFault(error, 'take the exec')
  } finally {
    giveBack()
  }
}

/** A power cut must not make two execs of one key, nor lose what was answered. */
const mustSync = ({ early, key }: Asked): boolean => early || key !== undefined

async function insert(parts: SubmitParts, asked: Asked, row: ExecRow, unrecorded: Unrecorded): Promise<Claim> {
  makeExecPlace(parts.root, row, parts.making)
  parts.keep(row.exec_id, unrecorded)
  return await parts.store.execs
    .insert(row, { durability: mustSync(asked) ? 'synced' : 'written', ...keyOf(asked, row) })
    .catch(async (error: unknown) => {
      await forget(parts, row)
      throw error
    })
}

async function accept(parts: SubmitParts, asked: Asked, row: ExecRow, claim: Claim): Promise<Submitted> {
  if (claim.outcome === 'claimed') {
    await writeAccepted(parts, row, { sync: mustSync(asked) })
    return { row, isRepeated: false }
  }
  await forget(parts, row)
  if (claim.outcome === 'mismatch') throw mismatch()
  const first = await parts.store.execs.find(claim.row.subject)
  if (first === undefined) throw new GloveboxError('CONFLICT', 'Cannot repeat the request: its exec is gone')
  return { row: first, isRepeated: true }
}

const keyOf = ({ key, project, bodySha256 }: Asked, row: ExecRow) =>
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

function resolveOrRefuse(
  boundaries: Boundaries,
  values: Unrecorded['values'],
): { readonly resolved: ResolvedPolicy; readonly refusal?: GloveboxError } {
  try {
    return { resolved: boundaries.resolve(values) }
  } catch (error) {
    if (!isGloveboxError(error) || !error.code.startsWith('POLICY_')) throw error
    return { resolved: boundaries.resolve({}), refusal: error }
  }
}

interface Checked {
  readonly cmd: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly variables: readonly string[]
  readonly resolved: ResolvedPolicy
}

function newRow({ now, self }: SubmitParts, { request, project }: Asked, checked: Checked): ExecRow {
  const name = { project_id: project, exec_id: newExecId() }
  return {
    ...name,
    ...queuedExec,
    task_id: request.task_ref?.task_id ?? null,
    conversation_id: request.task_ref?.conversation_id ?? null,
    skill_id: request.skill_id ?? null,
    image: request.image ?? null,
    cmd: checked.cmd,
    args: checked.args,
    cwd: checked.cwd,
    env_keys: [...new Set(checked.variables)].toSorted(),
    policy_snapshot: toSnapshot(checked.resolved.effective),
    artifacts_path: artifactsPath(name),
    created_at: now().toISOString(),
    // Values of its environment are known here alone, so that nobody else could run it.
    owner: checked.variables.length === 0 && checked.resolved.effective.secrets.length === 0 ? null : self,
  }
}

/** A directory without meta.json is one of a request that was never accepted, and may be swept. */
async function writeAccepted(parts: SubmitParts, row: ExecRow, { sync }: { readonly sync: boolean }): Promise<void> {
  const { root } = parts
  try {
    await writeFirstMeta(root, row, { sync })
    if (sync) await Promise.all([execPlace(root, row), dirname(execPlace(root, row))].map(syncDirectory))
  } catch (error) {
    // What cannot be written down must not run.
    await parts.store.execs.requestCancel(row.exec_id, parts.now().toISOString())
    throw error
  }
}

const forget = (parts: SubmitParts, row: ExecRow): Promise<void> =>
  rm(execPlace(parts.root, row), { recursive: true, force: true })

/** What was refused is recorded too; the error names its record. */
async function recordDenied(parts: SubmitParts, row: ExecRow, refusal: GloveboxError): Promise<GloveboxError> {
  const denied: ExecRow = {
    ...row,
    owner: null,
    status: 'POLICY_DENIED',
    error_reason: refusal.code.toLowerCase(),
    ended_at: row.created_at,
  }
  makeProject(parts.root, row.project_id, parts.making)
  makeExecPlace(parts.root, row, parts.making)
  await writeFiles({ ...parts, standIns: parts.making.standIns }, denied, false)
  await parts.store.execs.insert(denied, { durability: 'written' })
  return new GloveboxError(refusal.code, refusal.message, {
    ...(refusal.hint === undefined ? {} : { hint: refusal.hint }),
    ...(refusal.operatorDetail === undefined ? {} : { operatorDetail: refusal.operatorDetail }),
    facts: { ...refusal.facts, exec_id: row.exec_id },
    cause: refusal,
  })
}
