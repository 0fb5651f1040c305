// Execs on a backend whose commands go on without the server: started so, and found again by the next server.
import type { Ended } from '../../contract/exec.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { LastingCommand, LastingCommands, LastingFollow } from '../../contract/lasting.ts'
import type { GuestPath } from '../../contract/mount.ts'
import type { Redaction } from '../../contract/redaction.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { BoundaryRequest, Following, FoundAgain, Prepared } from '../../execs/boundaries.ts'
import { howItEnded } from '../../process/collect.ts'
import { readDeadline } from '../../process/deadline.ts'
import { discardPlanned, type Planned } from '../create.ts'
import { asHostFault } from '../host-fault.ts'

export function preparedLasting(
  planned: Planned,
  lasting: LastingCommands,
  { argv, cwd, env }: BoundaryRequest,
): Prepared {
  const { timeoutMs, maxStdoutBytes, maxStderrBytes } = planned.resolved.effective
  let command: LastingCommand | undefined
  let letGo: AbortSignal | undefined
  return {
    boundaryId: planned.id,
    image: planned.plan.image ?? null,
    policy: planned.resolved.effective,
    async run({ onBeginning, ...following }) {
      if (following.signal.aborted)
        throw new GloveboxError('CANCELLED', 'Cannot run the command: it was cancelled before it began')
      letGo = following.letGo
      const request = { argv, cwd: cwd as GuestPath, env, maxStdoutBytes, maxStderrBytes, onBeginning }
      command = await lasting.start(planned.id, planned.plan, request).catch((error: unknown) => {
        throw asHostFault(error, 'make the sandbox')
      })
      const { redaction } = planned.secrets
      return follow(command, { ...following, from: { stdout: 0, stderr: 0 }, timeoutMs, redaction })
    },
    async close() {
      if (command !== undefined) await closeOrLeave(command, letGo)
      await discardPlanned(planned)
    },
    forget: async () => command?.forget(),
  }
}

export async function findLasting(
  lasting: LastingCommands,
  boundaryId: string,
  { timeoutMs, redaction }: { readonly timeoutMs: number; readonly redaction: Redaction },
): Promise<FoundAgain | 'unbegun' | undefined> {
  const command = await lasting.find(boundaryId as SandboxId)
  if (command === undefined || command === 'unbegun') return command
  let letGo: AbortSignal | undefined
  return {
    elapsedMs: () => command.elapsedMs(),
    endedAgoMs: () => command.endedAgoMs(),
    run(following) {
      letGo = following.letGo
      return follow(command, { ...following, timeoutMs: Math.max(1, timeoutMs - command.elapsedMs()), redaction })
    },
    close: () => closeOrLeave(command, letGo),
    forget: () => command.forget(),
  }
}

/** Nothing of it is ours any more where another server was given it. */
async function closeOrLeave(command: LastingCommand, letGo: AbortSignal | undefined): Promise<void> {
  if (letGo?.aborted === true) command.leave()
  else await command.close()
}

async function follow(
  command: LastingCommand,
  { timeoutMs, signal, redaction, ...output }: LastingFollowed,
): Promise<Ended> {
  const deadline = readDeadline(timeoutMs, signal, () => command.kill())
  const [stdout, stderr] = [redacted(redaction, output.onStdout), redacted(redaction, output.onStderr)]
  try {
    const exit = await command.follow({ ...output, onStdout: stdout.push, onStderr: stderr.push })
    await Promise.all([stdout.end(), stderr.end()])
    if (exit.setupFailed !== undefined) throw cannotRun(exit.setupFailed, exit.unavailable === true)
    // Whoever comes late, or had no turn, finds the time over before it finds the end that came long before.
    return howItEnded(exit, exit.isKilled === true ? deadline.fired() : undefined, Math.round(command.elapsedMs()))
  } finally {
    deadline.clear()
  }
}

function cannotRun(operatorDetail: string, isUnavailable: boolean): GloveboxError {
  const hint = 'Nothing has run. `glovebox doctor` tells what is wrong with the backend.'
  return isUnavailable
    ? new GloveboxError('BACKEND_UNAVAILABLE', 'Cannot run the command: the backend does not answer', {
        hint,
        operatorDetail,
      })
    : new GloveboxError('BOUNDARY_FAILED', 'Cannot run the command: the boundary could not be set up', {
        hint,
        operatorDetail,
      })
}

interface LastingFollowed extends Following, LastingFollow {
  readonly timeoutMs: number
  readonly redaction: Redaction
}

/** The next server goes on behind the bytes that were written, so that there must be as many as the command wrote. */
function redacted(redaction: Redaction, pass: Following['onStdout']) {
  const redactor = redaction.open({ sameLength: true })
  const passOn = async (bytes: Uint8Array): Promise<void> => {
    if (bytes.length > 0) await pass(bytes)
  }
  return { push: (chunk: Uint8Array) => passOn(redactor.push(chunk)), end: () => passOn(redactor.end()) }
}
