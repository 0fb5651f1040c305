// How the container of a cell ends. As long as the daemon answers, it is asked to kill it, and docker tells when that is done. Where it does
// not answer, or not in time, docker is let go of and the container is ended for certain, which goes on behind us until it is gone.
import { inTime, late } from '../../process/in-time.ts'
import type { ChildEnd, SpawnedChild } from '../../process/spawn.ts'
import type { Endings } from './ending.ts'
import { mayComeLate } from './making.ts'
import type { WatchedDocker } from './watched.ts'

export interface CellEnd {
  /** Also of one that is just being made. Settles when nothing of it runs any more, as far as can be told from this host. */
  end(): Promise<void>
  /** The same of one whose docker has ended without being asked to. */
  endRest(): Promise<void>
}

export interface CellEndParts {
  readonly name: string
  /** The docker that holds its pipes. */
  readonly child: SpawnedChild
  readonly docker: Pick<WatchedDocker, 'cli' | 'circuit'>
  readonly endings: Pick<Endings, 'begin'>
  readonly id: () => string | undefined
  /** Docker does not remove it with its end. */
  readonly keepsEnded: boolean
}

const patienceMs = 10_000
const longestPauseMs = 250

export function openCellEnd({ name, child, docker, endings, id, keepsEnded }: CellEndParts): CellEnd {
  const { cli, circuit } = docker
  let letGoAt: number | undefined
  const isInMaking = (): boolean => letGoAt !== undefined && id() === undefined && mayComeLate(circuit, letGoAt)
  const endForCertain = async (): Promise<void> => void (await endings.begin({ name, id, isInMaking }).tried)

  /** True where docker has told that it has ended. */
  const stop = async (): Promise<boolean> => {
    const until = performance.now() + patienceMs
    const leftMs = (): number => Math.max(until - performance.now(), 0)
    let waitMs = 0
    // One that is just being made is not there yet, and would be in a moment.
    for (let pauseMs = 25; ; pauseMs = Math.min(pauseMs + 25, longestPauseMs)) {
      const end = await inTime(child.ended, waitMs)
      if (end !== late) return isOfContainer(end)
      if (leftMs() === 0) return false
      const { code, isAway } = await cli.ask(['kill', '--', name], { deadlineMs: leftMs(), unlessAway: true })
      if (isAway === true) return false
      waitMs = code === 0 ? leftMs() : pauseMs
    }
  }
  return {
    /**
     * SECURITY: a guest whose time is over would run on for as long as the daemon hangs; and without its guards, which are taken away.
     * test/faults/docker-dockerd-away: "end at their time, by a cancel and with their sandbox, on every runtime, while it hangs"
     */
    async end() {
      if (await stop()) return keepsEnded ? endForCertain() : undefined
      child.kill('SIGKILL')
      letGoAt = performance.now()
      await endForCertain()
    },
    /**
     * SECURITY: a container outlives a daemon that is killed, and its guest would run on without its guards.
     * test/faults/docker: "a daemon that is killed leaves no command running"
     */
    endRest: endForCertain,
  }
}

/** And not docker's own, which loses its hold where the daemon dies, while the container goes on. */
const isOfContainer = ({ code }: ChildEnd): boolean => code !== null && code !== codeOfDocker

const codeOfDocker = 125
