// `glovebox runs replay`: repeats a recorded run in a fresh sandbox, and says what came out the same.
import { resolve } from 'node:path'
import { replayRun, type ReplayReport } from '../../../runtime/runs/replay.ts'
import { loadSettings } from '../../../runtime/settings.ts'
import { jsonLine } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { watchInterrupts } from '../../signals.ts'
import type { Sink } from '../../sink.ts'
import type { ReplayFlags } from './replay-flags.ts'
import { replayText } from './replay-text.ts'
import { callName } from './told.ts'

const cancelledByHand = 130

export async function runsReplay(directory: string, flags: ReplayFlags, doing: Doing): Promise<number> {
  const { face } = doing
  const settings = await loadSettings({ directory: doing.directory })
  const interrupts = watchInterrupts()
  const progress = openProgress(face.err)
  try {
    const report = await replayRun({
      directory,
      sandboxPath: flags.sandbox === undefined ? undefined : resolve(doing.directory, flags.sandbox),
      allowed: {
        layers: settings.layers,
        mounts: settings.mounts ?? [],
        asRecorded: flags.asRecorded === true,
        backend: flags.backend,
      },
      env: flags.env ?? {},
      settingsEnv: settings.env ?? {},
      ownsProcess: true,
      signal: interrupts.signal,
      onBegin: (begun) => progress.begin(begun),
      onCompared: () => progress.step(),
    })
    await progress.end()
    await face.out.write(
      flags.json === true ? jsonLine(report) : replayText(report, callName(report.replay.directory, doing)),
    )
    return exitOf(report)
  } finally {
    await progress.end()
    interrupts.stop()
  }
}

function exitOf({ ok, replay }: ReplayReport): number {
  if (replay.status === 'cancelled') return cancelledByHand
  return ok ? 0 : 1
}

interface Progress {
  begin(begun: { readonly actions: number }): void
  step(): void
  end(): Promise<void>
}

/** One line that is written over; nothing where nobody watches. */
function openProgress(err: Sink): Progress {
  let total = 0
  let done = 0
  let isShown = false
  const show = (): void => {
    if (!err.isTerminal) return
    isShown = true
    void err.write(`\r\u001B[Kreplaying ${done} of ${total}`)
  }
  return {
    begin({ actions }) {
      total = actions
      show()
    },
    step() {
      done += 1
      show()
    },
    async end() {
      if (isShown) await err.write('\r\u001B[K')
      isShown = false
    },
  }
}
