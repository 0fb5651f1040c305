// `glovebox shell --list`: the shells of this host that were left, and go on.
import { GloveboxError } from '../../../errors/error.ts'
import { listHeld } from '../../../runtime/held/place.ts'
import { serverAsked } from '../../../runtime/remote.ts'
import { jsonLine, printable } from '../../output.ts'
import type { Doing } from '../../program.ts'
import type { ShellFlags } from '../shell.ts'

export async function list(flags: ShellFlags, { face: { out, err } }: Doing): Promise<number> {
  if (serverAsked(flags) !== undefined)
    throw new GloveboxError('INVALID_INPUT', 'Cannot list the shells of a server', {
      hint: '--list shows those of this host. On a server each sandbox has its own: GET /sandboxes/{id}/shells.',
    })
  const notes = listHeld()
  for (const { id, sandbox, directory, openedAt } of notes)
    await out.write(
      flags.json === true
        ? jsonLine({ id, sandbox, directory, openedAt })
        : `${id}  ${openedAt}  ${printable(directory)}\n`,
    )
  if (notes.length === 0) await err.write('glovebox: No shells are open.\n')
  return 0
}
