// `glovebox runs events`: the log of a run as it was written, and with -f as it is being written.
import type { RunEvent } from '../../../contract/event.ts'
import { followEvents } from '../../../runs/follow-events.ts'
import { readEvents, refuseOther } from '../../../runs/reader.ts'
import { lookAtRun } from '../../../runtime/runs/look.ts'
import { jsonLine, printable } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { watchInterrupts } from '../../signals.ts'
import { notRecovered, type RunsFlags } from './told.ts'

export interface EventsFlags extends RunsFlags {
  readonly follow?: boolean
  readonly from?: number
}

export async function runsEvents(directory: string, flags: EventsFlags, doing: Doing): Promise<number> {
  refuseOther(directory)
  const { out } = doing.face
  const afterSeq = (flags.from ?? 1) - 1
  const interrupts = flags.follow === true ? watchInterrupts() : undefined
  const source =
    interrupts === undefined
      ? readEvents(directory, { afterSeq })
      : followEvents(directory, { afterSeq, signal: interrupts.signal })
  try {
    for await (const event of source) {
      await out.write(flags.json === true ? jsonLine(event) : eventLine(event))
      if (!out.open) return 0
    }
  } finally {
    interrupts?.stop()
  }
  return interrupts?.received === undefined ? tellEnd(directory, doing) : 0
}

/** The events themselves cannot say that they are not all. */
async function tellEnd(directory: string, { face }: Doing): Promise<number> {
  const { damage, isCrashed, integrity, events } = await lookAtRun(directory)
  if (damage !== null) {
    await face.err.write(`glovebox: The log is damaged behind event ${events}: ${printable(damage)}\n`)
    await face.err.write('hint: `glovebox runs verify` tells more.\n')
    return 1
  }
  if (isCrashed) {
    const torn = integrity === 'torn' ? ', and its last line is torn' : ''
    await face.err.write(`glovebox: The run has ${notRecovered}${torn}.\nhint: glovebox runs recover\n`)
  }
  return 0
}

export function eventLine({ seq, timestamp, severity, actor, type, summary }: RunEvent): string {
  const mark = severity === 'error' || severity === 'warning' ? `${severity} ` : ''
  return `${printable(`${String(seq).padStart(4)} ${timestamp} ${actor.padEnd(8)} ${type}: ${mark}${summary}`)}\n`
}
