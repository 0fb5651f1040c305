// config.yaml of a run for which nobody wrote a settings file: settings that ask for the same. It can be given to --config.
import { stringify } from 'yaml'
import type { OperatorPolicy, PolicyLayer } from '../../contract/policy.ts'
import type { Deliverable } from '../../contract/run.ts'
import type { MountRequest } from '../mount-text.ts'
import type { ChosenExecutor } from './choose-executor.ts'

export interface Told {
  readonly backend: string | undefined
  readonly mounts: readonly MountRequest[]
  readonly layers: readonly PolicyLayer[]
  readonly chosen: ChosenExecutor
  readonly deliverables: readonly Deliverable[]
  /** Absolute host paths. */
  readonly inputs: readonly string[]
  readonly review: boolean
  readonly profile: string | undefined
  readonly title: string | undefined
}

const heading = `# No settings file was given for this run; these settings ask for the same. Values of --env are not kept.\n`

export function configTextOf({ backend, chosen, deliverables, layers, ...told }: Told): string {
  const settings = {
    // A file cannot switch isolation off, so it does not name the backend that has none.
    backend: backend === 'local' ? undefined : backend,
    mounts: listed(told.mounts),
    policy: merged(layers),
    executor: chosen.kind === 'command' ? chosen : chosen.kind === 'model' ? { kind: chosen.kind } : undefined,
    model: chosen.kind === 'model' ? chosen.model : undefined,
    deliverables: listed(deliverables.map(({ path, allow_empty: allowEmpty }) => ({ path, allowEmpty }))),
    inputs: listed(told.inputs),
    review: told.review || undefined,
    profile: told.profile,
    title: told.title,
  }
  return heading + stringify(JSON.parse(JSON.stringify(settings)))
}

const listed = <Item>(items: readonly Item[]): readonly Item[] | undefined => (items.length === 0 ? undefined : items)

/** A later layer replaces a value; names that only add are added. */
function merged(layers: readonly PolicyLayer[]): OperatorPolicy | undefined {
  const values = layers.map((layer) => layer.values)
  if (values.length === 0) return undefined
  const joined = (field: 'protect' | 'unprotect' | 'denyRead'): string[] | undefined => {
    const names = values.flatMap((each) => each[field] ?? [])
    return names.length === 0 ? undefined : [...new Set(names)]
  }
  const ceilings = Object.assign({}, ...values.map((each) => each.ceilings ?? {})) as OperatorPolicy['ceilings']
  return {
    ...(Object.assign({}, ...values) as OperatorPolicy),
    ...(ceilings === undefined || Object.keys(ceilings).length === 0 ? {} : { ceilings }),
    protect: joined('protect'),
    unprotect: joined('unprotect'),
    denyRead: joined('denyRead'),
  }
}
