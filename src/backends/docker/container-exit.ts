// How a container's command ended, when docker says one thing and the daemon may say another. Only where both agree is it known; or
// where docker lost its hold, its output came on another way, and the daemon tells an end that it cannot have brought about itself.
import { setTimeout as delay } from 'node:timers/promises'
import type { ProcessExit } from '../../contract/backend.ts'
import type { Answer, DockerCli } from './cli.ts'
import { signalIn } from './exit.ts'
import { firstLine } from './facts.ts'
import { hasEventOfMemory, isToldOfMemory, type MayBeOfMemory } from './late-memory.ts'
import { smallestQuestion } from './watched.ts'

export interface DockerEnd {
  /** Of `docker run`, which passes on the command's own where all went well. */
  readonly code: number
  /** The head of the standard error, where docker's own complaints are too. */
  readonly said: () => string
  /** The output is all there, whatever became of docker. */
  readonly isWhole: boolean
  /** A container was made. */
  readonly wasMade: boolean
  /** A daemon that gives no answer is asked again for as long as this holds. */
  readonly isWaitedFor: () => boolean
  readonly mayBeOfMemory: MayBeOfMemory
}

const answerMs = 10_000
const shortestPauseMs = 100
const longestPauseMs = 2000
const mostToEndMs = 10_000

export async function exitOfContainer(cli: DockerCli, name: string, end: DockerEnd): Promise<ProcessExit> {
  const { code, said, isWhole, wasMade } = end
  // Docker asks for a container to be started when it knows its id, and not before.
  if (!wasMade) return unmade(cli, firstLine(said()))
  const { code: asked, stdout, wasAway } = await inspect(cli, name, end)
  if (asked !== 0) return { lost: `docker ended with ${code}, and the container cannot be asked` }
  const [status, exitCode, oomKilled, startedAt = ''] = stdout.trim().split(' ')
  if (status === 'created') return { setupFailed: firstLine(said()) }
  const isTrue = !wasAway || isOwnEnd(code)
  if (status === 'exited' && Number(exitCode) === code && isTrue)
    return known(cli, name, { ...end, oomKilled, startedAt })
  if (status === 'exited' && isWhole && isOwnEnd(Number(exitCode)) && (exitCode !== '0' || (await isTrueOfZero(cli))))
    return { code: Number(exitCode) }
  return {
    lost: `docker ended with ${code}, and the container is ${status ?? 'unknown'} with ${exitCode ?? 'no code'}`,
  }
}

/** A daemon that goes, or comes back, ends with a signal what it does not leave alone; and says 255 where it does not know. */
const isOwnEnd = (code: number): boolean => code >= 0 && code < 128

/**
 * Docker 24.0.0 to 24.0.2 says 0 of what ran when it was killed with its shims, as at the end of the host's power, where every other
 * version says 255; and that it ended just now. Nothing else that it tells is different then from a command that succeeded.
 */
async function isTrueOfZero(cli: DockerCli): Promise<boolean> {
  const { code, stdout } = await cli.ask(smallestQuestion, { deadlineMs: answerMs })
  return code === 0 && /^\d/.test(stdout) && !/^24\.0\.[0-2](?!\d)/.test(stdout)
}

interface Known extends DockerEnd {
  readonly oomKilled: string | undefined
  readonly startedAt: string
}

async function known(cli: DockerCli, name: string, end: Known): Promise<ProcessExit> {
  const { code, oomKilled, startedAt } = end
  const signal = signalIn(code)
  if (signal === undefined) return { code }
  if (signal !== 'SIGKILL') return { signal }
  if (oomKilled === 'true') return { signal, oomKilled: true }
  // The container's own word was written down with its end. What the daemon heard behind that is only among its events.
  const isTold = (): Promise<boolean> => hasEventOfMemory(cli, name, startedAt)
  return (await isToldOfMemory(isTold, end)) ? { signal, oomKilled: true } : { signal }
}

const isOfNone = (said: string): boolean => /no such (?:container|object)/i.test(said)

interface Inspected extends Answer {
  /** The daemon gave no answer at first. */
  readonly wasAway: boolean
}

/**
 * Its end is not lost while the daemon may still tell it. What has let go of its output is about to end, and the daemon hears of that some
 * 100 ms later; so it is asked again for a while where it says that such a one runs.
 */
async function inspect(cli: DockerCli, name: string, { isWaitedFor, isWhole }: DockerEnd): Promise<Inspected> {
  const format = '{{.State.Status}} {{.State.ExitCode}} {{.State.OOMKilled}} {{.State.StartedAt}}'
  const words = ['container', 'inspect', '--format', format, '--', name]
  const late = performance.now() + mostToEndMs
  let wasAway = false
  for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    const answer = await cli.ask(words, { deadlineMs: answerMs })
    const isEnding = isWhole && answer.code === 0 && answer.stdout.startsWith('running ') && performance.now() < late
    const isAnswer = answer.code === 0 || isOfNone(answer.stderr)
    if (!isEnding && (isAnswer || !isWaitedFor())) return { ...answer, wasAway }
    wasAway ||= !isAnswer
    await delay(pauseMs)
  }
}

async function unmade(cli: DockerCli, complaint: string): Promise<ProcessExit> {
  if (isOfNoDaemon(complaint)) return { setupFailed: complaint, unavailable: true }
  const { code } = await cli.ask(smallestQuestion, { deadlineMs: answerMs, unlessAway: true })
  return { setupFailed: complaint, ...(code === 0 ? {} : { unavailable: true }) }
}

const isOfNoDaemon = (said: string): boolean => /cannot connect to the docker daemon|error during connect/i.test(said)
