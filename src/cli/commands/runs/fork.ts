// `glovebox runs fork`: a new run whose workspace begins where another one was; made, or made and started.
import { resolve } from 'node:path'
import { forkRun, type ForkedRun, type ForkRequest } from '../../../runtime/runs/fork.ts'
import { parsePoint } from '../../../runtime/runs/fork-point.ts'
import { jsonLine, printable } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { formatBytes } from '../../units.ts'
import type { ForkFlags } from './fork-flags.ts'
import { callName } from './told.ts'

export async function runsFork(
  directory: string,
  flags: ForkFlags,
  doing: Doing,
  argv: readonly string[] = [],
): Promise<number> {
  const request = await requestOf(directory, flags, doing)
  if (flags.start === true) return (await import('./fork-start.ts')).startFork(request, flags, doing, argv)
  const forked = await forkRun(request)
  const { out } = doing.face
  if (flags.json === true)
    await out.write(jsonLine({ ...forked.record, directory: forked.directory, ...toldFork(forked) }))
  else await out.write(forkText(forked, callName(forked.directory, doing)))
  return 0
}

async function requestOf(directory: string, flags: ForkFlags, doing: Doing): Promise<ForkRequest> {
  const asks = flags.prompt !== undefined || flags.promptFile !== undefined
  return {
    directory,
    at: flags.at === undefined ? undefined : parsePoint(flags.at),
    sandboxPath: flags.sandbox === undefined ? undefined : resolve(doing.directory, flags.sandbox),
    runId: flags.runId,
    prompt: asks ? await promptOf(flags, doing) : undefined,
    method: flags.copy === true ? 'copy' : 'cheapest',
    sandbox: { ownsProcess: true, ...(flags.backend === undefined ? {} : { backend: flags.backend }) },
  }
}

const promptOf = async (flags: ForkFlags, { directory }: Doing): Promise<string> =>
  (await (await import('../../prompt.ts')).readPrompt(flags, { directory })).prompt

const toldFork = ({ fork, cost }: ForkedRun): Record<string, unknown> => ({
  by: fork.by,
  why: fork.why,
  layers: fork.layers.length,
  copied_entries: cost.entries,
  copied_bytes: cost.bytes,
  duration_ms: cost.durationMs,
})

function forkText({ record, fork, cost }: ForkedRun, name: string): string {
  const { run_id: origin, seq } = fork.forked_from
  const how =
    fork.by === 'overlay'
      ? `Nothing was copied: it sees through to ${origin}, which must stay as it is.`
      : `${cost.entries} entries, ${formatBytes(cost.bytes)}, were copied${fork.by === 'reflink' ? ', sharing their blocks' : ''}: ${fork.why}.`
  const lines = [
    `${record.run_id} is pending, forked from ${origin} at event ${seq} by ${fork.by} in ${cost.durationMs} ms.`,
    how,
    'Start what is to be done in it:',
    `  $ glovebox runs fork ${name} --start -- …`,
  ]
  return lines.map((line) => `${printable(line)}\n`).join('')
}
