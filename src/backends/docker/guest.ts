// Who the guest is. What it makes in a mount must belong to the mount's owner, and Docker, unlike a user namespace, lets an id
// inside mean the same id outside; so the guest runs as that owner, and never as root.
import { chownSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxSpec } from '../../contract/backend.ts'
import { GloveboxError } from '../../errors/error.ts'
import { defaultGuest, type Guest } from './compile.ts'

export interface GuestFacts {
  readonly operator: Guest
  /** What lies below it is our own, and may be given away. */
  readonly stateDir: string
}

/** An ordinary user runs the guest as themselves; root runs it as the owner of the first writable mount. */
export function chooseGuest(spec: SandboxSpec, { operator, stateDir }: GuestFacts): Guest {
  if (operator.uid !== 0) return operator
  const writable = spec.mounts.filter(({ mode }) => mode === 'rw')
  const owner = writable.map(({ hostPath }) => statSync(hostPath)).find(({ uid }) => uid !== 0)
  const guest =
    owner === undefined ? defaultGuest : { uid: owner.uid, gid: owner.gid === 0 ? defaultGuest.gid : owner.gid }
  for (const { guestPath, hostPath } of writable) giveOrRefuse({ guestPath, hostPath, guest, stateDir })
  giveHome(spec.home.hostPath, guest)
  return guest
}

interface Giving {
  readonly guestPath: string
  readonly hostPath: string
  readonly guest: Guest
  readonly stateDir: string
}

/** Root's own directories are given to the guest only where nothing of anybody's is in them. */
function giveOrRefuse({ guestPath, hostPath, guest, stateDir }: Giving): void {
  const { uid } = statSync(hostPath)
  if (uid === guest.uid) return
  const isOurs = hostPath.startsWith(`${stateDir}/`)
  if (uid === 0 && (isOurs || isEmpty(hostPath))) return chownSync(hostPath, guest.uid, guest.gid)
  const whose = uid === 0 ? 'root' : `the user ${uid}`
  throw new GloveboxError(
    'NOT_PERMITTED',
    `Cannot mount ${guestPath} for writing: it belongs to ${whose}, and the container runs as the user ${guest.uid}`,
    {
      hint: `Give the directory to that user: chown -R ${guest.uid}:${guest.gid} DIRECTORY; or run Glovebox as the ordinary user who owns it.`,
      operatorDetail: hostPath,
    },
  )
}

/** Made by us a moment ago, or by an earlier sandbox: in both cases the agent's own. */
function giveHome(home: string, guest: Guest): void {
  for (const place of [home, join(home, 'tmp'), join(home, '.cache')]) {
    if (statSync(place, { throwIfNoEntry: false })?.uid === 0) chownSync(place, guest.uid, guest.gid)
  }
}

const ownNames = new Set(['.glovebox'])
const isEmpty = (directory: string): boolean => readdirSync(directory).every((name) => ownNames.has(name))
