// Changes to the mounts and vaults of a sandbox that a server keeps: what is asked for by name, done to the boundary that is open, and
// written down for the next one. It promises that what is refused changes nothing.
import type { SandboxId } from '../../contract/ids.ts'
import type { Provisioned } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import { resolveMounts } from '../mounts.ts'
import type { Lifetimes } from '../pool/lifetimes.ts'
import type { Member } from '../pool/member.ts'
import { planProvision, type MountOffers, type ProvisionRequest } from '../pool/offers.ts'
import type { VaultRequests } from '../secrets.ts'
import { vaultGuestPath } from '../../vaults/vaults.ts'

export interface ProvisioningParts {
  readonly lifetimes: Pick<Lifetimes, 'inTurn' | 'requireQuiet' | 'whileShut'>
  readonly offers: MountOffers
  readonly vaults: VaultRequests
}

type Planned = ReturnType<typeof planProvision>

export function openProvisioning(
  parts: ProvisioningParts,
): (id: SandboxId, asked: ProvisionRequest) => Promise<Provisioned> {
  const { inTurn, requireQuiet, whileShut } = parts.lifetimes
  return (id, asked) =>
    inTurn(id, async (member) => {
      const planned = planProvision(asked, member.record, parts)
      if (member.record.layers.length === 0) return member.provision(planned.resources, planned.record)
      // The kernel does not let two overlays share the directory that takes the changes: the one must go before the other comes.
      refuseImpossible(member, planned)
      const open = (await member.sandbox.shells.list()).length
      requireQuiet(id, 'provision')
      await openAnew(whileShut, member, planned)
      return { lost: open === 0 ? [] : [`what ${open} shell(s) remembered, and what ran in them`] }
    })
}

/** What a boundary of its own would have found out before the first one is given up. */
function refuseImpossible({ sandbox }: Member, { resources: { mounts, vaults } }: Planned): void {
  const gone: readonly string[] = [...(mounts?.remove ?? []), ...(vaults?.remove ?? []).map(vaultGuestPath)]
  const kept = sandbox.describe().mounts.map(({ guestPath }): string => guestPath)
  const missing = gone.find((path) => !kept.includes(path))
  if (missing !== undefined)
    throw new GloveboxError('NOT_FOUND', `Cannot provision: nothing is mounted at ${missing}`, {
      facts: { what: 'mount' },
    })
  const added = [
    ...resolveMounts(mounts?.add ?? []).map(({ guestPath }): string => guestPath),
    ...Object.keys(vaults?.add ?? {}).map(vaultGuestPath),
  ]
  const places = [...kept.filter((path) => !gone.includes(path)), ...added]
  const twice = places.find((path, index) => places.indexOf(path) !== index)
  if (twice === undefined) return
  throw new GloveboxError('ALREADY_EXISTS', `Cannot provision: ${twice} is mounted already`, {
    hint: 'Remove it in the same call, or choose another path.',
  })
}

async function openAnew(whileShut: Lifetimes['whileShut'], member: Member, { record }: Planned): Promise<void> {
  const before = member.record
  try {
    await whileShut(member, () => member.keep(record))
  } catch (error) {
    await whileShut(member, () => member.keep(before))
    throw error
  }
}
