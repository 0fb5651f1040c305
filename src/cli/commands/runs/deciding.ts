// What the commands that change a run have in common: they know the run that they speak of, and tell what they mended.
import { GloveboxError } from '../../../errors/error.ts'
import { lookAtRun } from '../../../runtime/runs/look.ts'
import type { Deciding } from '../../../runtime/runs/review.ts'
import { printable } from '../../output.ts'
import type { Doing } from '../../program.ts'

export async function aboutRun(directory: string): Promise<Deciding> {
  const { record, damage } = await lookAtRun(directory)
  if (record !== null && damage === null) return { directory, runId: record.run_id }
  throw new GloveboxError(
    'RECORD_DAMAGED',
    `Cannot change the run: ${damage ?? 'not even its first event can be read'}`,
    {
      hint: '`glovebox runs verify` tells more. Nothing was changed.',
    },
  )
}

export async function tellRepairs(repairs: readonly string[], { face }: Doing): Promise<void> {
  for (const repair of repairs) await face.err.write(`glovebox: The run had crashed: ${printable(repair)}.\n`)
}
