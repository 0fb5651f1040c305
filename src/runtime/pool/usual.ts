// What all sandboxes have for whom nothing else was asked: of this kind they can be made ahead.
import type { ServedBackends } from '../server/backends.ts'
import { firstPlace } from './layout.ts'
import { mountsOf, type HouseRules } from './member.ts'
import type { MemberRecord } from './record.ts'
import type { MemberDefaults, MemberRequest } from './request.ts'
import type { SpareKind, Wishes } from './spare.ts'

interface UsualRules extends HouseRules {
  readonly backends: ServedBackends
  readonly defaults: MemberDefaults
}

/** As the operator's settings have it, with nothing of the caller's that a spare could not have. */
export const asksForUsual = (
  { mounts = [], provisioned, snapshot, ...asked }: MemberRequest,
  { backend, layout }: MemberDefaults,
): boolean =>
  (asked.backend ?? backend) === backend &&
  (asked.layout ?? layout) === layout &&
  mounts.length === 0 &&
  provisioned === undefined &&
  snapshot === undefined

/** What all have for whom nothing else was asked. */
export const usualWishes = ({ layers, env, vaults, defaults: { layout } }: UsualRules): Wishes => ({
  layers,
  env,
  vaults,
  cwd: firstPlace[layout],
})

export const isPlain = ({ policy, env, cwd }: MemberRecord): boolean =>
  policy === null && cwd === null && Object.keys(env).length === 0

export async function spareKind(options: UsualRules, wishes: Wishes): Promise<SpareKind> {
  const { backend, layout } = options.defaults
  return {
    backend: await options.backends.get(backend),
    wishes,
    mountsIn: (directory) => mountsOf(options, { layout, layers: [], mounts: [] }, directory),
  }
}
