// Settings and what was asked on the spot, joined into one request. The resolved config is what the fingerprint is taken
// of: everything that decides how the run goes, in one form, whichever file or flag it came from. Values of environment
// variables that were given on the spot stay out of it, since it is kept.
import { resolve } from 'node:path'
import type { RunOptions } from '../../contract/exec.ts'
import type { Executor } from '../../contract/executor.ts'
import type { EffectivePolicy, PolicyLayer } from '../../contract/policy.ts'
import type { Deliverable } from '../../contract/run.ts'
import { resolvePolicy } from '../../policy/resolve.ts'
import { defaultBackend, type CreateOptions } from '../create.ts'
import type { MountRequest } from '../mount-text.ts'
import type { Settings, RunSettings } from '../settings.ts'
import { chooseExecutor, openExecutor, type ChosenExecutor, type ExecutorKind } from './choose-executor.ts'
import { configTextOf } from './config-text.ts'
import type { RunRequest } from './request.ts'

export interface RunAsked {
  readonly settings: Settings
  /** Laid over the layers of the settings. */
  readonly layers: readonly PolicyLayer[]
  readonly backend?: CreateOptions['backend'] | undefined
  /** All of them, those of the settings included. */
  readonly mounts: readonly MountRequest[]
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly executor?: ExecutorKind | Executor | undefined
  /** Empty: that of the settings. */
  readonly argv: readonly string[]
  readonly stdin?: RunOptions['stdin']
  /** For a command that is the whole work. */
  readonly secrets?: RunOptions['secrets']
  /** Host paths, beside those of the settings. */
  readonly inputs?: readonly string[] | undefined
  readonly ownsProcess?: boolean
}

export type ComposedRun = Pick<
  RunRequest,
  'executor' | 'config' | 'configText' | 'sandbox' | 'inputs' | 'deliverables' | 'review' | 'profileId' | 'taskTitle'
> & {
  /** How much of each output a command may say, for whoever shows it. */
  readonly limits: Pick<EffectivePolicy, 'maxStdoutBytes' | 'maxStderrBytes'>
}

export async function composeRun(asked: RunAsked): Promise<ComposedRun> {
  const run: Partial<RunSettings> = asked.settings.run ?? {}
  const backend = asked.backend ?? asked.settings.backend
  const layers = [...asked.settings.layers, ...asked.layers]
  const { effective, ceilings } = resolvePolicy(layers)
  const chosen = chooseExecutor({ asked: asked.executor, argv: asked.argv, settings: run })
  const deliverables = (run.deliverables ?? []).map(asDeliverable)
  const inputs = [...(run.inputs ?? []).map((path) => resolve(run.directory ?? '', path)), ...(asked.inputs ?? [])]
  const { stdin, secrets } = asked
  const parts = { deliverables: deliverables.map(({ path }) => guestName(path)), stdin, secrets }
  return {
    executor: await openExecutor(chosen, parts),
    config: plain({
      backend: typeof backend === 'object' ? backend.name : (backend ?? defaultBackend()),
      mounts: asked.mounts,
      policy: effective,
      ceilings,
      env: asked.settings.env ?? {},
      env_names: Object.keys(asked.env ?? {}).toSorted(),
      executor: told(chosen),
      deliverables,
      inputs,
      review: run.review ?? false,
      profile: run.profile ?? null,
      title: run.title ?? null,
    }),
    sandbox: {
      layers,
      mounts: asked.mounts,
      env: { ...asked.settings.env, ...asked.env },
      ...(asked.settings.vaults === undefined ? {} : { vaults: asked.settings.vaults }),
      ...(backend === undefined ? {} : { backend }),
      ...(asked.settings.docker === undefined ? {} : { docker: asked.settings.docker }),
      ...(asked.ownsProcess === undefined ? {} : { ownsProcess: asked.ownsProcess }),
    },
    limits: effective,
    inputs,
    deliverables,
    review: run.review ?? false,
    profileId: run.profile ?? null,
    taskTitle: run.title ?? null,
    configText:
      run.text ??
      configTextOf({
        backend: typeof backend === 'object' ? backend.name : backend,
        mounts: asked.mounts,
        layers,
        chosen,
        deliverables,
        inputs,
        review: run.review ?? false,
        profile: run.profile,
        title: run.title,
      }),
  }
}

const asDeliverable = (given: NonNullable<RunSettings['deliverables']>[number]): Deliverable =>
  typeof given === 'string'
    ? { path: given, allow_empty: false }
    : { path: given.path, allow_empty: given.allowEmpty ?? false }

/** `report.md` and `deliverables/report.md` mean the same place. */
export const guestName = (path: string): string =>
  path.startsWith('/') ? path : `/deliverables/${path.replace(/^deliverables\//, '')}`

function told(chosen: ChosenExecutor): unknown {
  if (chosen.kind === 'brought') return { kind: chosen.executor.name }
  return chosen.kind === 'command' ? chosen : { kind: chosen.kind, model: chosen.model ?? null }
}

const plain = (value: unknown): Record<string, unknown> => JSON.parse(JSON.stringify(value)) as Record<string, unknown>
