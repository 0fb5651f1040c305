// One command on the bare host, followed to the end of everything that it started.
import { constants } from 'node:os'
import { PassThrough } from 'node:stream'
import type { Process, ProcessExit } from '../../contract/backend.ts'
import type { ChildEnd, SpawnedChild } from '../../process/spawn.ts'
import { followTree } from '../../process/tree.ts'
import { openOutput } from './output.ts'
import type { Rewriter } from './rewrite.ts'

export interface LocalChild {
  readonly child: SpawnedChild
  readonly pid: number
  /** `NAME=value` in the environment of the child and of all that inherit it. */
  readonly marker: string
  /** Somebody may be typing, and waits to see it. */
  readonly isTyped?: boolean
}

const typistsPatienceMs = 30

export function followChild({ child, pid, marker, isTyped }: LocalChild, rewriter: Rewriter): Process {
  const tree = followTree({ pid, marker })
  const stdout = openOutput(
    child.stdout,
    rewriter.maskStream(isTyped === true ? { patienceMs: typistsPatienceMs } : {}),
  )
  const stderr = openOutput(child.stderr, rewriter.maskStream())
  child.stdin?.on('error', () => {})

  const follow = async (): Promise<ProcessExit> => {
    const end = await child.ended
    const { survivors } = await tree.finish()
    child.stdin?.destroy()
    void stdout.finish()
    void stderr.finish()
    return isTyped === true ? asShellTells(readExit(end, survivors)) : readExit(end, survivors)
  }
  return { stdin: child.stdin, stdout: stdout.stream, stderr: stderr.stream, exit: follow(), kill: () => tree.kill() }
}

function readExit(end: ChildEnd, survivors: number): ProcessExit {
  if (survivors > 0) return { lost: `${survivors} process(es) that the command started could not be ended` }
  if (end.code !== null) return { code: end.code }
  return end.signal === null ? { lost: 'the system did not say how the command ended' } : { signal: end.signal }
}

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]))

/** On a terminal there is a shell between, which tells a signal as 128+n. */
function asShellTells(exit: ProcessExit): ProcessExit {
  const signal = signalNames.get((exit.code ?? 0) - 128)
  return signal === undefined ? exit : { signal }
}

/** What a shell answers when a program cannot be started, so that callers need not know whether there was a shell. */
const startFailures: Readonly<Record<string, { readonly code: number; readonly says: string }>> = {
  ENOENT: { code: 127, says: 'command not found' },
  ENOTDIR: { code: 127, says: 'command not found' },
  EACCES: { code: 126, says: 'permission denied' },
  EPERM: { code: 126, says: 'operation not permitted' },
  EISDIR: { code: 126, says: 'is a directory' },
  ENOEXEC: { code: 126, says: 'cannot execute: wrong format' },
  ELOOP: { code: 126, says: 'too many levels of symbolic links' },
  ETXTBSY: { code: 126, says: 'text file busy' },
  E2BIG: { code: 126, says: 'argument list too long' },
  ENAMETOOLONG: { code: 126, says: 'file name too long' },
}

/** A command that could not be started: it has ended already. `program` is its name in the guest's words. */
export function failedStart(program: string, error: Error, stdin: 'none' | 'pipe'): Process {
  const failure = 'code' in error ? startFailures[String(error.code)] : undefined
  const input = stdin === 'pipe' ? new PassThrough().resume() : null
  const says = failure === undefined ? '' : `glovebox: ${program}: ${failure.says}\n`
  const exit =
    failure === undefined
      ? { setupFailed: `the command could not be started: ${error.message}` }
      : { code: failure.code }
  return { stdin: input, stdout: said(''), stderr: said(says), exit: Promise.resolve(exit), kill: () => {} }
}

function said(text: string): PassThrough {
  const stream = new PassThrough()
  stream.end(text)
  return stream
}
