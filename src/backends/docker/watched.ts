// The command line of docker, with an eye on whether the daemon answers at all. Who would begin something is refused while it does not.
// Who must end something, or learn how something ended, asks on as if nobody had noticed: of that nothing may be guessed.
import { GloveboxError } from '../../errors/error.ts'
import { away, openCircuit, type Circuit, type Seen } from './circuit.ts'
import type { Answer, DockerCli } from './cli.ts'

export interface WatchedDocker {
  readonly cli: DockerCli
  readonly circuit: Circuit
  /** At once where it is known, and else when it has been asked. */
  answers(): Promise<boolean>
  /** BACKEND_UNAVAILABLE while it is known that the daemon does not answer. */
  refuseIfAway(): void
}

/** The smallest question that only the daemon can answer. */
export const smallestQuestion = ['version', '--format', '{{.Server.Version}}'] as const
const lookMs = 5000
/** A timer that is later than this was late for want of a turn of our own. */
const ownTurnMs = 1000
/** What has just answered need not be asked whether it does. */
const freshMs = 3000

const noAnswer: Answer = { code: null, stdout: '', stderr: '', isAway: true }

export function watchDocker(cli: DockerCli, now: () => number = () => performance.now()): WatchedDocker {
  const circuit = openCircuit({ look: () => lookAt(cli, now), now })
  let heardAt = -Infinity
  let asking: Promise<boolean> | undefined

  const watched: DockerCli = {
    ...cli,
    async ask(args, { unlessAway = false, ...options } = {}) {
      const ask = async (): Promise<Answer> => {
        const answer = await cli.ask(args, options)
        if (answer.code === 0) heardAt = now()
        if (answer.isLate === true) circuit.suspect()
        return answer
      }
      if (unlessAway) {
        const answer = await circuit.unlessAway(ask)
        return answer === away ? noAnswer : answer
      }
      const answer = ask()
      circuit.attend(answer)
      return answer
    },
  }
  const askIt = async (): Promise<boolean> => (await watched.ask(smallestQuestion, { unlessAway: true })).code === 0
  return {
    cli: watched,
    circuit,
    async answers() {
      if (circuit.isOpen()) return false
      if (now() - heardAt < freshMs) return true
      asking ??= askIt().finally(() => (asking = undefined))
      return asking
    },
    refuseIfAway() {
      if (circuit.isOpen()) throw daemonAway()
    },
  }
}

/** A daemon that is not there is told of by docker itself, and at once: that is an answer. */
async function lookAt(cli: DockerCli, now: () => number): Promise<Seen> {
  const begun = now()
  const { code, isLate } = await cli.ask(smallestQuestion, { deadlineMs: lookMs })
  if (isLate !== true) return code === null ? 'nothing' : 'answer'
  // Whoever was stopped, or had no turn, finds the deadline over before it finds the answer that came long ago.
  return now() - begun < lookMs + ownTurnMs ? 'silence' : 'nothing'
}

export const daemonAway = (): GloveboxError =>
  new GloveboxError('BACKEND_UNAVAILABLE', 'Cannot use docker: the Docker daemon does not answer', {
    hint: 'Nothing has run. Docker is used again as soon as its daemon answers; `docker info` tells more.',
  })
