// Examines one backend: is it there, does it run, does it hold. The answer is data; how it looks is the command's part.
import type { Backend, BackendName, Probe } from '../../contract/backend.ts'
import { renderForOperator } from '../../errors/render.ts'
import { openBackendHere } from '../../runtime/backends-here.ts'
import { formatMs } from '../units.ts'
import { type CanaryReport, type Outcome, runCanary } from './canary.ts'

export type CheckState = 'ok' | 'warn' | 'fail' | 'off'

export interface Check {
  readonly check: string
  readonly state: CheckState
  readonly detail: string
  readonly fix?: string
}

export interface BackendReport {
  readonly name: string
  readonly isolates: boolean
  /** It is there and its canary lives: commands run, and what an isolating backend must refuse is refused. */
  readonly usable: boolean
  readonly probe: Probe
  readonly trueMs?: number
  readonly checks: readonly Check[]
}

export async function examine(name: BackendName): Promise<BackendReport> {
  try {
    return await examineOpened(await openBackendHere(name))
  } catch (error) {
    const check = failedCheck(name, error)
    return { name, isolates: false, usable: false, probe: { available: false, reason: check.detail }, checks: [check] }
  }
}

async function examineOpened(backend: Backend): Promise<BackendReport> {
  const probe = await backend.probe()
  const isolates = backend.capabilities['filesystem.isolated'] !== undefined
  const found = { name: backend.name, isolates, probe }
  if (!probe.available) return { ...found, usable: false, checks: [absent(backend.name, probe)] }
  const checks = [present(backend.name, probe), ...notes(backend.name, probe)]
  try {
    const canary = await runCanary(backend)
    const tried = canaryChecks(backend.name, canary, { isolates })
    const usable = tried.every((check) => check.state !== 'fail')
    return { ...found, usable, trueMs: canary.trueMs, checks: [...checks, ...tried] }
  } catch (error) {
    return { ...found, usable: false, checks: [...checks, failedCheck(`${backend.name} runs`, error)] }
  }
}

function absent(name: string, probe: Probe): Check {
  const detail = probe.reason ?? 'not available on this host'
  return { check: name, state: 'off', detail, ...(probe.fix === undefined ? {} : { fix: probe.fix }) }
}

function present(name: string, probe: Probe): Check {
  const detail = [probe.version, probe.reason].filter((part) => part !== undefined).join('; ')
  return { check: name, state: 'ok', detail: detail === '' ? 'available' : detail }
}

const notes = (name: string, probe: Probe): readonly Check[] =>
  (probe.notes ?? []).map((detail) => ({
    check: `${name} note`,
    state: 'warn',
    detail,
    ...(probe.fix === undefined ? {} : { fix: probe.fix }),
  }))

function canaryChecks(name: string, canary: CanaryReport, options: { readonly isolates: boolean }): readonly Check[] {
  const judge = (what: string, outcome: Outcome): Check => ({
    check: `${name} ${what}`,
    state: stateOf(outcome, options),
    detail: outcome.detail,
    ...(outcome.state === 'open' && options.isolates ? { fix: 'Do not use this backend here; please report it.' } : {}),
  })
  return [
    { check: `${name} runs`, state: 'ok', detail: `"true" took ${formatMs(canary.trueMs)}` },
    judge('denies reads', canary.read),
    judge('denies writes', canary.write),
    judge('blocks network', canary.connect),
    ...(options.isolates ? [] : [unisolated(name)]),
  ]
}

/** Where isolation is claimed an open door is a failure; where none is claimed it is the truth, plainly told. */
function stateOf(outcome: Outcome, options: { readonly isolates: boolean }): CheckState {
  if (outcome.state === 'untried') return 'warn'
  if (!options.isolates) return 'off'
  return outcome.state === 'held' ? 'ok' : 'fail'
}

const unisolated = (name: string): Check => ({
  check: `${name} isolation`,
  state: 'warn',
  detail:
    'isolates nothing: commands run as you, with your files and your network; it runs only when asked for by name',
})

export function failedCheck(check: string, error: unknown): Check {
  const { message, detail, hint } = renderForOperator(error)
  return {
    check,
    state: 'fail',
    detail: detail === undefined ? message : `${message} (${detail})`,
    ...(hint === undefined ? {} : { fix: hint }),
  }
}
