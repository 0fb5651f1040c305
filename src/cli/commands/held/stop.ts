// `glovebox stop sh_…`: ends shells of this host that were left.
import { GloveboxError } from '../../../errors/error.ts'
import { findHeld } from '../../../runtime/held/place.ts'
import { endHeld } from '../../../runtime/held/reach.ts'
import { jsonLine } from '../../output.ts'
import type { Doing } from '../../program.ts'
import type { PoolFlags } from '../pool/told.ts'

export async function stopShells(asked: readonly string[], flags: PoolFlags, { face }: Doing): Promise<number> {
  if (!asked.every((one) => one.startsWith('sh_')))
    throw new GloveboxError('INVALID_INPUT', 'Cannot stop sandboxes and shells at once', {
      hint: 'Name the ones, and then the others.',
    })
  // All are found before the first one is ended.
  const ids = new Set(asked.map((one) => findHeld(one).id))
  for (const id of ids) {
    await endHeld(id)
    await face.out.write(flags.json === true ? jsonLine({ id, stopped: true }) : `${id}\n`)
  }
  return 0
}
