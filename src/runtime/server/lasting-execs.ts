// Execs on a backend whose commands go on without the server: started so, and found again by the next server.
import type { ProcessExit } from '../../contract/backend.ts'
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
  return {
    boundaryId: planned.id,
    async run(following) {
      if (following.signal.aborted)
        throw new GloveboxError('CANCELLED', 'Cannot run the command: it was cancelled before it began')
      const request = { argv, cwd: cwd as GuestPath, env, maxStdoutBytes, maxStderrBytes }
      command = await lasting.start(planned.id, planned.plan, request).catch((error: unknown) => {
        throw asHostFault(error, 'make the sandbox')
      })
      const { redaction } = planned.secrets
      return follow(command, { ...following, from: { stdout: 0, stderr: 0 }, timeoutMs, redaction })
    },
    async close() {
      await command?.close()
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
  return {
    run: (following) =>
      follow(command, { ...following, timeoutMs: Math.max(1, timeoutMs - command.elapsedMs()), redaction }),
    close: () => command.close(),
    forget: () => command.forget(),
  }
}

async function follow(
  command: LastingCommand,
  { timeoutMs, signal, redaction, ...output }: LastingFollowed,
): Promise<Ended> {
  const deadline = readDeadline(timeoutMs, signal, () => command.kill())
  const [stdout, stderr] = [redacted(redaction, output.onStdout), redacted(redaction, output.onStderr)]
  try {
    const exit: ProcessExit = await command.follow({ ...output, onStdout: stdout.push, onStderr: stderr.push })
    await Promise.all([stdout.end(), stderr.end()])
    if (exit.setupFailed !== undefined && deadline.fired() === undefined)
      throw new GloveboxError('BOUNDARY_FAILED', 'Cannot run the command: the boundary could not be set up', {
        hint: 'Nothing has run. `glovebox doctor` tells what is wrong with the backend.',
        operatorDetail: exit.setupFailed,
      })
    return howItEnded(exit, deadline.fired(), Math.round(command.elapsedMs()))
  } finally {
    deadline.clear()
  }
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
