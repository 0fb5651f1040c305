// A lasting command whose container docker has been told to make, and has not made yet. Where the daemon does not answer it is given up,
// since it would hold its place for as long as that lasts. Docker asks for a container to be started when it knows its id, and not before:
// so if docker is ended while it knows none, it is certain that nothing has run, nor ever will.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { platform } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { isAlive, type ProcessIdentity } from '../../process/identity.ts'
import { away, type Circuit } from './circuit.ts'
import { isStill, signalHolder, statesIn } from './holder.ts'

export interface MakingParts {
  readonly circuit: Pick<Circuit, 'unlessAway' | 'closedForMs'>
  readonly place: string
  /** It leads the group that docker is in. */
  readonly shell: ProcessIdentity
  /** Docker has written the id of the container down. */
  readonly isMade: () => boolean
}

export interface Making {
  /** Meanwhile it is given up if the daemon does not answer. Undefined: the shell is gone without a word, which may be why. */
  attend<Told>(follow: () => Promise<Told | undefined>): Promise<Told | undefined>
  /** By us, or by whoever was here before us. */
  isGivenUp(): boolean
  /** Docker is at work on it. Or it was, and the daemon, when it goes on, makes what it finds in its socket, though nobody waits for it. */
  mayStillBeMade(): boolean
  /** The shell that holds it is there. One that cannot be seen from here is, until it is given up. */
  isHeld(): boolean
  /** Nobody waits for the shell any more: it is ended, with docker, and taken for gone also where it cannot be reached. */
  letGo(): void
}

const lookMs = 250
const mostToBeMadeLateMs = 5000

/** Nobody waits any more for what docker has asked for, and the daemon may only now find it in its socket, or has just gone on. */
export const mayComeLate = (circuit: Pick<Circuit, 'closedForMs'>, letGoAt: number): boolean =>
  Math.min(performance.now() - letGoAt, circuit.closedForMs()) < mostToBeMadeLateMs

export function openMaking({ circuit, place, shell, isMade }: MakingParts): Making {
  const mark = join(place, 'given-up')
  let isGivenUp = existsSync(mark)
  let letGoAt: number | undefined
  const isHeld = (): boolean => letGoAt === undefined && !isKnownDead(shell)
  const wasLetGoLately = (): boolean => letGoAt !== undefined && mayComeLate(circuit, letGoAt)
  /** Settles when the container is made, or will not be, or when nobody waits for it any more. */
  const giveUpWhileAway = async (isOver: () => boolean): Promise<void> => {
    const isDecided = (): boolean => isMade() || isOver() || !isHeld()
    const decided = async (): Promise<void> => {
      while (!isDecided()) await delay(lookMs, undefined, { ref: false })
    }
    // Whoever was here before us may have died while it held it still.
    if (!isMade()) signalHolder(shell, 'SIGCONT')
    while ((await circuit.unlessAway(decided)) === away && !isDecided()) {
      isGivenUp = await endUnlessDecided(shell, isDecided)
      if (isGivenUp) return leave(mark)
      await delay(lookMs, undefined, { ref: false })
    }
  }
  return {
    isGivenUp: () => isGivenUp,
    mayStillBeMade: () => isHeld() || wasLetGoLately() || (isGivenUp && circuit.closedForMs() < mostToBeMadeLateMs),
    isHeld,
    letGo() {
      // One that has ended has waited for its docker, which has asked for nothing that could still come.
      if (isKnownDead(shell)) return
      letGoAt ??= performance.now()
      signalHolder(shell, 'SIGKILL')
    },
    async attend(follow) {
      let isOver = false
      const decided = giveUpWhileAway(() => isOver)
      // Whoever follows may fail before it is waited for.
      decided.catch(() => {})
      try {
        const told = await follow()
        isOver = true
        if (told === undefined) await decided
        return told
      } finally {
        isOver = true
      }
    },
  }
}

/** Without descriptors nothing can be known. */
function isKnownDead(shell: ProcessIdentity): boolean {
  try {
    return !isAlive(shell)
  } catch {
    return false
  }
}

/** For whoever comes after us, if we die before its end is written down. Without it they call it lost. */
function leave(mark: string): void {
  try {
    writeFileSync(mark, '')
  } catch {
    // The disk is full, for one. What is known here is known all the same.
  }
}

/** Held still before it is looked at: what is not written down by then never will be. False also where it could not be held. */
async function endUnlessDecided(shell: ProcessIdentity, isDecided: () => boolean): Promise<boolean> {
  if (platform !== 'linux' || !isStill(shell)) return false
  signalHolder(shell, 'SIGSTOP')
  const isUnmade = (await isHeldStill(shell.pid).catch(() => false)) && !isDecided()
  // One that has ended by itself has told how.
  return signalHolder(shell, isUnmade ? 'SIGKILL' : 'SIGCONT') && isUnmade
}

/** A shell that waits for a child to become a program cannot be held before that has, and the child is held already. */
const mostToStopMs = 500

async function isHeldStill(group: number): Promise<boolean> {
  for (const until = performance.now() + mostToStopMs; performance.now() < until; await delay(5))
    if (statesIn(group).every((state) => /^[TtZX]$/.test(state))) return true
  return false
}
