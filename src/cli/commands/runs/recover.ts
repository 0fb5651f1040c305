// `glovebox runs recover`: ends what crashed, mends what a crash can have torn, and says what it did.
import { recoverRuns, type Recovery } from '../../../runtime/runs/recover.ts'
import { jsonLine, printable } from '../../output.ts'
import type { Doing } from '../../program.ts'
import type { RunsFlags } from './told.ts'

export async function runsRecover(
  root: string | undefined,
  flags: RunsFlags,
  { face, directory }: Doing,
): Promise<number> {
  const counts = { sound: 0, alive: 0, recovered: 0, damaged: 0, failed: 0 }
  for await (const one of recoverRuns({ directory, root: root ?? flags.root })) {
    counts[one.outcome] += 1
    if (flags.json === true) await face.out.write(jsonLine(forMachines(one)))
    else if (one.outcome !== 'sound') await face.out.write(`${printable(asLine(one))}\n`)
  }
  await face.err.write(
    `glovebox: ${counts.recovered} recovered, ${counts.sound} sound, ${counts.alive} at work, ${counts.damaged} damaged, ${counts.failed} not recovered.\n`,
  )
  return counts.damaged + counts.failed === 0 ? 0 : 1
}

const forMachines = ({ runId, name, ...rest }: Recovery): Record<string, unknown> => ({
  run_id: runId ?? name,
  ...rest,
})

function asLine({ runId, name, outcome, status, repairs, detail }: Recovery): string {
  const called = runId ?? name
  switch (outcome) {
    case 'alive':
      return `${called}: ${status}, its process lives; left alone`
    case 'damaged':
      return `${called}: damaged, left as it is: ${detail ?? 'not even the first event can be read'}`
    case 'failed':
      return `${called}: not recovered: ${detail}`
    case 'recovered':
    case 'sound':
      return `${called}: ${repairs.join('; ') || `nothing was left to do; it is ${status}`}`
  }
}
