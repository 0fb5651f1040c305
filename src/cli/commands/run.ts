// `glovebox run`: one recorded run, watched to its end, its outcome as our exit code.
import { join, resolve } from 'node:path'
import type { RunEvent } from '../../contract/event.ts'
import { serverAsked } from '../../runtime/remote.ts'
import { composeRun, type ComposedRun } from '../../runtime/runs/compose.ts'
import { locateRun } from '../../runtime/runs/find.ts'
import { planRevision, type Revision } from '../../runtime/runs/review.ts'
import { startRun, type FinishedRun } from '../../runtime/runs/start.ts'
import type { SettingsText } from '../../runtime/settings-file.ts'
import { loadSettings } from '../../runtime/settings.ts'
import { exitCodeForRun } from '../exit.ts'
import { flagLayers } from '../flags.ts'
import { errorLines, jsonLine } from '../output.ts'
import type { Doing } from '../program.ts'
import { readPrompt } from '../prompt.ts'
import { joinMounts } from '../request.ts'
import type { RunFlags } from '../run-program.ts'
import { endingLines } from '../run-ending.ts'
import { watchRun, type Shown, type Watcher } from '../run-watch.ts'
import { type Interrupts, watchInterrupts } from '../signals.ts'
import { pipedInput } from '../stdin.ts'

export async function run(argv: readonly string[], flags: RunFlags, doing: Doing): Promise<number> {
  if (serverAsked(flags) !== undefined) return (await import('./remote/run.ts')).runRemotely(argv, flags, doing)
  const interrupts = watchInterrupts()
  try {
    const revision = await revisionOf(flags, doing)
    const { directory } = doing
    const { prompt, usesStdin } =
      revision === undefined
        ? await readPrompt(flags, { directory, signal: interrupts.signal })
        : { prompt: revision.prompt, usesStdin: false }
    const command = argv.length > 0 ? argv : (revision?.command ?? argv)
    const composed = await compose(command, flags, { doing, usesStdin, revision })
    const watcher = watch(flags, composed, { doing, interrupts })
    const finished = await startRun({
      ...composed,
      prompt,
      sessionId: flags.sessionId,
      taskId: flags.taskId,
      ...(revision === undefined ? {} : taskOf(revision)),
      runId: flags.runId,
      sandboxPath: flags.sandbox === undefined ? undefined : resolve(directory, flags.sandbox),
      signal: interrupts.signal,
      ...watcher,
    })
    await tell(finished, { flags, doing, remarks: watcher.remarks?.() ?? [] })
    return exitCodeForRun(finished, { signal: interrupts.received, readerGone: !doing.face.out.open })
  } finally {
    interrupts.stop()
  }
}

async function revisionOf({ revises }: RunFlags, { directory }: Doing): Promise<Revision | undefined> {
  return revises === undefined ? undefined : planRevision(locateRun(revises, { directory }))
}

/** The next attempt owes what the first one owed, whatever the settings say by now. */
function taskOf({ sessionId, taskId, revisionOf, sessionTitle, taskTitle, deliverables, review }: Revision) {
  return { sessionId, taskId, revisionOf, sessionTitle, taskTitle, deliverables, review }
}

interface Asking {
  readonly doing: Doing
  /** The prompt has been read from there, so nothing is left for the command. */
  readonly usesStdin: boolean
  readonly revision: Revision | undefined
}

async function compose(argv: readonly string[], flags: RunFlags, asking: Asking): Promise<ComposedRun> {
  const { doing, usesStdin, revision } = asking
  const { directory } = doing
  const settingsFile = settingsOf(flags, directory, revision)
  const settings = await loadSettings({
    directory,
    ...(flags.policy === undefined ? {} : { policyFile: flags.policy }),
    ...(flags.vaults === undefined ? {} : { vaultsFile: flags.vaults }),
    ...(settingsFile === undefined ? {} : { settingsFile }),
  })
  const stdin = usesStdin ? undefined : pipedInput()
  return composeRun({
    settings,
    layers: flagLayers(flags),
    mounts: joinMounts(settings.mounts ?? [], flags.mount ?? []),
    backend: flags.backend,
    env: flags.env,
    executor: flags.executor,
    argv,
    inputs: (flags.input ?? []).map((path) => resolve(directory, path)),
    ownsProcess: true,
    ...(stdin === undefined ? {} : { stdin }),
    ...(flags.secret === undefined ? {} : { secrets: flags.secret }),
  })
}

/** The next attempt has the config of the first. The paths in it begin where the person is, as they did then. */
function settingsOf(
  { config }: RunFlags,
  directory: string,
  revision: Revision | undefined,
): string | SettingsText | undefined {
  if (config !== undefined) return resolve(directory, config)
  return revision && { path: join(directory, 'config.yaml'), text: revision.configText }
}

interface Running {
  readonly doing: Doing
  readonly interrupts: Interrupts
}

/** With JSON on standard output nothing else goes there. */
function watch(flags: RunFlags, { limits }: ComposedRun, { doing, interrupts }: Running): Watcher & Partial<Shown> {
  const { out, err } = doing.face
  if (flags.jsonEvents === true) return { onEvent: (event: RunEvent) => void out.write(jsonLine(event)) }
  if (flags.json === true) return {}
  return watchRun({ out, err, limits, onGone: () => interrupts.abort() })
}

interface Telling {
  readonly flags: RunFlags
  readonly doing: Doing
  readonly remarks: readonly string[]
}

async function tell(finished: FinishedRun, { flags, doing, remarks }: Telling): Promise<void> {
  const { out, err } = doing.face
  if (flags.json === true) await out.write(jsonLine(finished.record))
  if (finished.error !== undefined) await err.write(errorLines(finished.error, { debug: flags.debug === true }))
  if (flags.json === true || flags.jsonEvents === true) return
  for (const line of [...remarks, ...endingLines(finished, doing.directory)]) await err.write(`${line}\n`)
}
