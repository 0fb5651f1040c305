// `glovebox shell` on this host. The shell is held by a process of its own, so that it can be left and come back to.
import { newShellId } from '../../../contract/ids.ts'
import { findHeld } from '../../../runtime/held/place.ts'
import { reachHeld, type HeldLine } from '../../../runtime/held/reach.ts'
import { startHolder } from '../../../runtime/held/start.ts'
import { sit } from '../../terminal/sit.ts'
import type { Asked, Sat } from '../shell.ts'
import type { HoldOrder } from './hold.ts'

export async function sitNear(asked: Asked): Promise<Sat> {
  const { flags, seat, interrupts } = asked
  const isOurs = flags.attach === undefined
  const line = isOurs ? await openHere(asked) : await comeBack(flags.attach, asked)
  try {
    const outcome = await sit(seat, line, { signal: interrupts.signal, canDetach: true })
    if (outcome === 'detached') await line.leave()
    else if (isOurs || outcome === 'ended') await line.end()
    return { outcome, end: line.ended, sandbox: line.sandbox, shell: line.shell }
  } finally {
    line.close()
  }
}

async function openHere({ argv, flags, doing: { directory }, seat, interrupts }: Asked): Promise<HeldLine> {
  const id = newShellId()
  const order: HoldOrder = { id, argv, flags, directory }
  await startHolder({ program: [process.execPath, String(process.argv[1]), 'shell', '--hold'], directory, order })
  return reachHeld(id, { size: seat.size, from: 0, signal: interrupts.signal })
}

const comeBack = (asked: string, { seat, interrupts }: Asked): Promise<HeldLine> =>
  reachHeld(findHeld(asked).id, { size: seat.size, signal: interrupts.signal })
