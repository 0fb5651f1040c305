// `glovebox runs fork --start`: the fork is made and its work begins at once. Apart from the rest, which needs none of this.
import { resolve } from 'node:path'
import { parse } from 'yaml'
import { composeRun } from '../../../runtime/runs/compose.ts'
import { prepareFork, type ForkRequest } from '../../../runtime/runs/fork.ts'
import { startRun } from '../../../runtime/runs/start.ts'
import { loadSettings } from '../../../runtime/settings.ts'
import { exitCodeForRun } from '../../exit.ts'
import { errorLines, jsonLine } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { endingLines } from '../../run-ending.ts'
import { watchRun } from '../../run-watch.ts'
import { watchInterrupts } from '../../signals.ts'
import type { ForkFlags } from './fork-flags.ts'

export async function startFork(
  request: ForkRequest,
  flags: ForkFlags,
  doing: Doing,
  argv: readonly string[],
): Promise<number> {
  const interrupts = watchInterrupts()
  try {
    const { directory, identity, plan, snapshots } = await prepareFork(request)
    const settings = await loadSettings({
      directory: doing.directory,
      ...(flags.config === undefined ? {} : { settingsFile: resolve(doing.directory, flags.config) }),
    })
    const { limits, ...composed } = await composeRun({
      settings,
      layers: [],
      mounts: settings.mounts ?? [],
      backend: flags.backend,
      argv: argv.length > 0 || settings.run !== undefined ? argv : commandIn(snapshots.configText),
      ownsProcess: true,
    })
    const { out, err } = doing.face
    const watcher = flags.json === true ? {} : watchRun({ out, err, limits, onGone: () => interrupts.abort() })
    const finished = await startRun({
      ...composed,
      ...identity,
      sandboxPath: directory,
      signal: interrupts.signal,
      ...watcher,
    })
    if (flags.json === true) await out.write(jsonLine({ ...finished.record, directory, by: plan.record.by }))
    if (finished.error !== undefined) await err.write(errorLines(finished.error, { debug: flags.debug === true }))
    if (flags.json !== true) for (const line of endingLines(finished, doing.directory)) await err.write(`${line}\n`)
    return exitCodeForRun(finished, { signal: interrupts.received, readerGone: !doing.face.out.open })
  } finally {
    interrupts.stop()
  }
}

/** Both in the settings that a person wrote and in those that were resolved. */
function commandIn(configText: string): readonly string[] {
  const config = parse(configText) as { readonly executor?: { readonly command?: unknown } } | null
  const command = config?.executor?.command
  return Array.isArray(command) && command.every((word) => typeof word === 'string') ? command : []
}
