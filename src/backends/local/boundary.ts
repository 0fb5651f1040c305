// A live `local` boundary, which bounds nothing: it starts commands on the host with their paths exchanged, keeps
// account of what runs so that it can be ended, and reaches files by descriptor like every other backend.
import { randomUUID } from 'node:crypto'
import { stat } from 'node:fs/promises'
import type { Boundary, Process, SandboxSpec, SpawnRequest } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { GuestPath } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { HostFiles } from '../../paths/host-files.ts'
import { joined, onTerminal, sessionCommand } from '../../process/on-terminal.ts'
import type { SpawnedChild, Spawner } from '../../process/spawn.ts'
import type { Terminal } from '../../process/terminal.ts'
import { failedStart, followChild } from './process.ts'
import type { Rewriter } from './rewrite.ts'

export interface BoundaryParts {
  readonly id: SandboxId
  readonly spec: SandboxSpec
  readonly rewriter: Rewriter
  readonly files: HostFiles
  readonly spawner: Spawner
  readonly searchProgram: string
  readonly shell: string
  /** Where programs are looked for if the environment has no PATH. */
  readonly searchPath: string
}

export interface LocalBoundary extends Boundary {
  /** Ends everything that runs inside. Idempotent. */
  close(): Promise<void>
}

const uncounted = (['memoryBytes', 'pids', 'cpuMs'] as const).map((what) => ({
  what,
  why: "local isolates nothing: its commands are among the host's other processes",
}))

export function openBoundary(parts: BoundaryParts): LocalBoundary {
  const running = new Set<Process>()
  let closed: Promise<void> | undefined

  const refuseIfClosed = (): void => {
    if (closed !== undefined)
      throw new GloveboxError('SANDBOX_GONE', 'Cannot run the command: the sandbox has been killed')
  }

  const endAll = async (): Promise<void> => {
    const ends = [...running].map((each) => {
      each.kill()
      return each.exit
    })
    await Promise.all(ends)
    parts.files.close()
  }

  const begin = async (request: SpawnRequest, cwd: string, terminal?: Terminal): Promise<Process> => {
    // From here to the entry in `running` nothing waits, so close() cannot slip in between.
    refuseIfClosed()
    const started = start(parts, request, cwd, terminal)
    if ('error' in started) return failedStart(request.argv[0], started.error, request.stdin)
    const { child, marker } = started
    if (child.pid === undefined) return startRefused(child, request)
    const command = followChild({ child, pid: child.pid, marker, isTyped: terminal !== undefined }, parts.rewriter)
    running.add(command)
    void command.exit.then(() => running.delete(command))
    return command
  }

  return {
    id: parts.id,
    files: parts.files,
    searchProgram: parts.searchProgram,
    shell: parts.shell,
    commandText: (text) => parts.rewriter.shellText(text),
    usage: () => Promise.resolve({ notCounted: uncounted }),
    async spawn(request) {
      refuseIfClosed()
      refuseNul(request)
      const cwd = parts.rewriter.directory(request.cwd)
      await checkDirectory(cwd, request.cwd)
      if (request.pty === undefined) return begin(request, cwd)
      return onTerminal(request.pty, (terminal) => begin(request, cwd, terminal))
    },
    close() {
      closed ??= endAll()
      return closed
    },
  }
}

type Started = { readonly child: SpawnedChild; readonly marker: string } | { readonly error: Error }

function start(
  { rewriter, spec, spawner, searchPath, searchProgram }: BoundaryParts,
  request: SpawnRequest,
  cwd: string,
  terminal: Terminal | undefined,
): Started {
  const [name, value] = ['GLOVEBOX_EXEC', randomUUID()]
  const [program, ...args] = rewriter.argv(request.argv)
  const env = {
    PATH: searchPath,
    ...rewriter.environment({ ...spec.env, ...request.env }),
    // With it a shell keeps the name by which the directory was given instead of one with its links resolved.
    PWD: cwd,
    [name]: value,
  }
  try {
    // The search program has a host path from the beginning, which may look like a virtual one.
    const file = request.argv[0] === searchProgram ? searchProgram : program
    const common = { cwd, env, detached: true }
    const marker = `${name}=${value}`
    if (terminal === undefined)
      return { child: spawner.spawnChild({ ...common, file, args, stdin: request.stdin }), marker }
    const [shell, ...words] = sessionCommand(terminal, [file, ...args])
    const child = spawner.spawnChild({ ...common, file: shell, args: words, stdin: { terminal: terminal.childEnd } })
    return { child: joined(child, terminal), marker }
  } catch (error) {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }
}

async function startRefused(child: SpawnedChild, request: SpawnRequest): Promise<Process> {
  const { error } = await child.ended
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => {}).destroy()
  return failedStart(request.argv[0], error ?? new Error('no reason was given'), request.stdin)
}

function refuseNul({ argv, env }: SpawnRequest): void {
  const clean =
    argv.every((arg) => !arg.includes('\0')) && Object.entries(env).every((pair) => !pair.join('=').includes('\0'))
  if (clean) return
  throw new GloveboxError('INVALID_INPUT', 'Cannot run the command: an argument or a value contains a NUL byte', {
    hint: 'Pass bytes by standard input or in a file.',
  })
}

async function checkDirectory(host: string, shown: GuestPath): Promise<void> {
  const found = await stat(host).catch((error: NodeJS.ErrnoException) => error)
  if (found instanceof Error) {
    const refused = found.code === 'EACCES' || found.code === 'EPERM'
    throw new GloveboxError(
      refused ? 'NOT_PERMITTED' : 'NOT_FOUND',
      `Cannot run the command: the working directory ${shown} ${refused ? 'may not be entered' : 'does not exist'}`,
      { hint: 'Make the directory first, or choose another cwd.', operatorDetail: found.message },
    )
  }
  if (!found.isDirectory()) {
    throw new GloveboxError('NOT_A_DIRECTORY', `Cannot run the command: ${shown} is not a directory`, {
      hint: 'Choose a directory as cwd.',
    })
  }
}
