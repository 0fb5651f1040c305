// Directories of the host that the operator offers to the users of a server, by name. A user says a name and where in the sandbox it is
// to stand; a path of the host is never his to say.
import type { Resources } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import { parseGuestPath } from '../../paths/guest.ts'
import type { MountRequest } from '../mount-text.ts'
import type { VaultRequests } from '../secrets.ts'
import type { MemberRecord } from './record.ts'

export interface MountOffer {
  readonly hostPath: string
  readonly mode: 'ro' | 'rw'
  /** Default: every one. */
  readonly projects?: readonly string[] | undefined
}

export type MountOffers = Readonly<Record<string, MountOffer>>

type Kept = NonNullable<MemberRecord['provisioned']>
type KeptMount = Kept['mounts'][number]

export interface NamedMount {
  readonly name: string
  readonly guestPath: string
  readonly mode?: 'ro' | 'rw' | undefined
}

export interface ProvisionRequest {
  readonly mounts?:
    | {
        readonly add?: readonly NamedMount[] | undefined
        readonly remove?: readonly string[] | undefined
      }
    | undefined
  readonly vaults?:
    | { readonly add?: readonly string[] | undefined; readonly remove?: readonly string[] | undefined }
    | undefined
}

type OfRecord = Pick<MemberRecord, 'provisioned'> & Partial<Pick<MemberRecord, 'project'>>

/** Those of a record, as they are offered today. */
export function offeredMounts(offers: MountOffers, { provisioned, project = '' }: OfRecord): readonly MountRequest[] {
  return (provisioned?.mounts ?? []).flatMap(({ name, guestPath, mode }) => {
    const offer = findOffer(offers, name, project)
    if (offer === undefined) return []
    return [{ guestPath, hostPath: offer.hostPath, mode: offer.mode === 'ro' ? 'ro' : mode }]
  })
}

/**
 * SECURITY: names are looked up among the operator's and nowhere else, and what was not added so is not removed either.
 * test/e2e/server-provision: "a caller gets what is offered to its project, in no wider a mode, and no path of the host"
 */
export function planProvision(
  asked: ProvisionRequest,
  record: MemberRecord,
  rules: { readonly offers: MountOffers; readonly vaults: VaultRequests },
): { readonly resources: Resources; readonly record: MemberRecord } {
  const before = record.provisioned ?? { mounts: [], without_vaults: [] }
  const gone = (asked.mounts?.remove ?? []).map((path) => removable(path, before.mounts))
  const added = (asked.mounts?.add ?? []).map((one) => chosen(one, rules.offers, record.project))
  const vaults = { add: asked.vaults?.add ?? [], remove: asked.vaults?.remove ?? [] }
  for (const name of [...vaults.add, ...vaults.remove])
    if (!Object.hasOwn(rules.vaults, name)) throw notOffered('vault', name, Object.keys(rules.vaults))
  const mounts = [
    ...before.mounts.filter(({ guestPath }) => !gone.includes(guestPath)),
    ...added.map(({ kept }) => kept),
  ]
  const without = [...before.without_vaults.filter((name) => !vaults.add.includes(name)), ...vaults.remove]
  return {
    resources: {
      mounts: {
        remove: gone,
        add: added.map(({ kept: { guestPath, mode }, hostPath }) => ({ guestPath, hostPath, mode })),
      },
      vaults: {
        remove: vaults.remove,
        add: Object.fromEntries(Object.entries(rules.vaults).filter(([name]) => vaults.add.includes(name))),
      },
    },
    record: { ...record, provisioned: { mounts, without_vaults: [...new Set(without)] } },
  }
}

/** What a sandbox begins with that is made with these. */
export function firstProvision(asked: readonly NamedMount[], offers: MountOffers, project: string): Kept {
  const mounts = asked.map((one) => chosen(one, offers, project))
  return { mounts: mounts.map(({ kept }) => kept), without_vaults: [] }
}

function chosen(
  { name, guestPath, mode: asked }: NamedMount,
  offers: MountOffers,
  project: string,
): { readonly kept: KeptMount; readonly hostPath: string } {
  const offer = findOffer(offers, name, project)
  if (offer === undefined) throw notOffered('mount', name, namesFor(offers, project))
  const mode = asked ?? offer.mode
  if (mode === 'rw' && offer.mode === 'ro') throw wider(name)
  return { kept: { name, guestPath: parseGuestPath(guestPath), mode }, hostPath: offer.hostPath }
}

function findOffer(offers: MountOffers, name: string, project: string): MountOffer | undefined {
  const offer = Object.hasOwn(offers, name) ? offers[name] : undefined
  return offer?.projects === undefined || offer.projects.includes(project) ? offer : undefined
}

const namesFor = (offers: MountOffers, project: string): readonly string[] =>
  Object.keys(offers).filter((name) => findOffer(offers, name, project) !== undefined)

function removable(path: string, mounts: readonly KeptMount[]): string {
  const guestPath = parseGuestPath(path)
  if (mounts.some((mount) => mount.guestPath === guestPath)) return guestPath
  throw new GloveboxError('NOT_FOUND', `Cannot provision: nothing that was added stands at ${guestPath}`, {
    hint: 'Only what was added by this route can be removed by it.',
    facts: { what: 'mount' },
  })
}

const notOffered = (kind: 'mount' | 'vault', name: string, offered: readonly string[]): GloveboxError =>
  new GloveboxError('POLICY_DENIED', `Cannot provision: no ${kind} of the name ${name} is offered`, {
    hint:
      offered.length === 0
        ? `The operator of the server offers none. The settings name them in ${kind === 'mount' ? 'pool.offered_mounts' : 'vaults'}.`
        : `Offered: ${offered.join(', ')}.`,
    facts: { field: `${kind}s`, asked: name, allowed: offered },
  })

const wider = (name: string): GloveboxError =>
  new GloveboxError('POLICY_ESCALATION', `Cannot provision: ${name} is offered read-only`, {
    facts: { field: 'mounts.mode', asked: 'rw', allowed: 'ro' },
  })
