// A lasting command and its end, for whoever follows it: the process that started it, or a later one.
import { existsSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { ProcessExit } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { LastingCommand, LastingExit } from '../../contract/lasting.ts'
import type { HostPath } from '../../contract/mount.ts'
import { GloveboxError, isGloveboxError } from '../../errors/error.ts'
import { liftPlaceholders, sweepPlaceholders } from '../../guards/placeholders.ts'
import { isErrno } from '../../paths/refusal.ts'
import { removeTree } from '../../paths/remove-tree.ts'
import { ownIdentity, type ProcessIdentity } from '../../process/identity.ts'
import { inTime } from '../../process/in-time.ts'
import { exitOfContainer } from './container-exit.ts'
import type { Ending, Endings } from './ending.ts'
import { signalIn } from './exit.ts'
import { signalHolder } from './holder.ts'
import { complaintsIn, idIn, isToldIn } from './holding.ts'
import { idWrittenAt } from './id-file.ts'
import { anyKillSince } from './late-memory.ts'
import { openMaking } from './making.ts'
import { endedAt, followSpool, hasEnd, refuseIfLetGo, writeUnkept, type SpoolEnd, type Unkept } from './spool.ts'
import type { WatchedDocker } from './watched.ts'

/** What a later process must know. */
export interface Begun {
  readonly name: string
  readonly shell: ProcessIdentity
  readonly uptimeMs: number
  /** By the clock on the wall, which goes on while the host is off. Absent: of an earlier version. */
  readonly begunAtMs?: number
  /** Who began it. */
  readonly owner: ProcessIdentity
  /** Its, with the journal of what was put into its mounts. */
  readonly stateDir: HostPath
  /** Its output comes past docker. */
  readonly hasOwnPipes: boolean
  /** How many processes the daemon's host had killed for want of memory. Absent: that is not told here. */
  readonly killsBefore?: number | undefined
}

export interface CommandParts {
  readonly docker: WatchedDocker
  readonly endings: Endings
  /** Ours. */
  readonly stateDir: HostPath
  /** Of its spool. */
  readonly place: string
}

/** By its length, which can be seen also without descriptors. What is made must not be taken for what never will be. */
function mayBeMade(place: string): boolean {
  try {
    return (statSync(idIn(place), { throwIfNoEntry: false })?.size ?? 0) >= 64
  } catch {
    // It cannot be seen, and whoever follows its output hears why.
    return true
  }
}

const exitIn = (code: number): ProcessExit => {
  const signal = signalIn(code)
  return signal === undefined ? { code } : { signal }
}

function unkept({ unkept: why }: Unkept): LastingExit {
  if (why === 'fault') return { lost: 'some of its output could not be kept' }
  throw new GloveboxError('NO_SPACE', 'Cannot keep the output of the command: the disk of the workspace is full', {
    hint: 'Free space there.',
  })
}

/** Where the daemon answers, and was asked too early: docker was still at work on it. */
const mostToBeGoneMs = 1000

/** For the last of its output, when nothing of it runs any more. */
const graceMs = 10_000

const killed: LastingExit = { signal: 'SIGKILL', isKilled: true }

async function untilGone(isHeld: () => boolean): Promise<void> {
  const until = performance.now() + 5000
  while (isHeld() && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 20))
}

export function commandAt(parts: CommandParts, id: SandboxId, begun: Begun): LastingCommand {
  const { docker, endings, place } = parts
  const { name, shell, uptimeMs, hasOwnPipes } = begun
  // Where that is out of our sight, whoever finds it again takes away what is left.
  const stateDir = existsSync(begun.stateDir) ? begun.stateDir : parts.stateDir
  /** Of what is not known by then, nothing more is waited for. */
  let isOver = false
  let isKilled = false
  let hasExited = false
  /** Why not all of its output was handed over, until it has been. */
  let missing: Unkept | undefined = { unkept: 'fault' }
  /** The command's own end is known, and nothing of it runs any more; docker may not know it yet. */
  let isToldByItself = false
  /** What is written there is the end of the command, and not of docker alone. */
  let isItsEnd = false
  let known: string | undefined
  /** The count of this boot says nothing of one that began in an earlier one. */
  const isOfThisBoot = shell.bootId === ownIdentity().bootId
  const elapsedMs = (): number =>
    isOfThisBoot ? uptime() * 1000 - uptimeMs : Math.max(Date.now() - (begun.begunAtMs ?? Date.now()), 0)
  const containerId = (): string | undefined => (known ??= idWrittenAt(idIn(place)))
  const isMade = (): boolean => mayBeMade(place)
  const making = openMaking({ circuit: docker.circuit, place, shell, isMade })
  const isInMaking = (): boolean => containerId() === undefined && making.mayStillBeMade()
  const end = (): Ending => endings.begin({ name, id: containerId, isInMaking })
  /** Another process has it. */
  const leaving = new AbortController()
  const isLeft = (): boolean => leaving.signal.aborted
  const leave = (): void => leaving.abort()
  /**
   * SECURITY: the pipes end with the last process that has them, and a guest can hand them to another one's. What was ended is over all
   * the same, and so it is where the shell that held them cannot be seen from here, or waits for a daemon that does not answer.
   * test/faults/execs-held: "one that has handed its output to another ends all the same, and that one writes to nobody"
   */
  const endForCertain = async (): Promise<void> => {
    await end().tried
    await delay(graceMs, undefined, { ref: false })
    if (!isLeft()) making.letGo()
  }
  const followed = async (ended: SpoolEnd | Unkept | undefined): Promise<LastingExit> => {
    if (isKilled) return killed
    if (ended !== undefined && 'unkept' in ended) return unkept(ended)
    isToldByItself = ended?.isOwn === true
    isItsEnd = isToldByItself
    if (ended?.isElsewhere === true)
      return { setupFailed: 'the container does not show at every place what was meant to be there' }
    if (ended?.isOfMemory === true) return { signal: 'SIGKILL', oomKilled: true }
    if (ended?.isOwn === true) return exitIn(ended.code)
    if (making.isGivenUp()) return { setupFailed: 'the Docker daemon does not answer', unavailable: true }
    if (ended === undefined)
      return existsSync(isToldIn(place))
        ? { lost: 'the shell that held its pipes is gone' }
        : { setupFailed: 'the shell that was to hold its pipes has ended' }
    const exit = await exitOfContainer(docker.cli, name, {
      code: ended.code,
      said: () => readFileSync(complaintsIn(place, { hasOwnPipes }), 'utf8'),
      isWhole: hasOwnPipes,
      wasMade: isMade(),
      isWaitedFor: () => !isOver && !isLeft(),
      mayBeOfMemory: anyKillSince(begun.killsBefore),
    })
    isItsEnd = isDeepStrictEqual({ ...exit, oomKilled: undefined }, { ...exitIn(ended.code), oomKilled: undefined })
    // Docker had let go of one that may have run until now.
    return isOver && exit.lost !== undefined ? killed : exit
  }
  return {
    elapsedMs,
    endedAgoMs() {
      const at = isItsEnd ? endedAt(place) : undefined
      const agoMs = at === undefined ? 0 : Date.now() - at
      // Somebody has set the clock meanwhile.
      return agoMs < 0 || agoMs > elapsedMs() ? 0 : agoMs
    },
    kill() {
      if (isLeft()) return
      isOver = true
      // How one has ended that ended by itself can be asked for as long as its container is there. `close` takes that away.
      if (hasEnd(place)) return
      isKilled = true
      void endForCertain()
    },
    leave,
    async follow({ letGo, ...output }) {
      if (letGo?.aborted === true) leave()
      letGo?.addEventListener('abort', leave, { once: true })
      try {
        const options = { ...output, letGo: leaving.signal }
        const told = await making
          .attend(() => followSpool(place, options, () => making.isHeld()))
          .catch((error: unknown) => {
            missing = { unkept: isFull(error) ? 'full' : 'fault' }
            throw error
          })
        missing = undefined
        const exit = await unless(leaving.signal, followed(told))
        hasExited = exit.code !== undefined || (exit.signal !== undefined && exit.isKilled !== true)
        return exit
      } finally {
        letGo?.removeEventListener('abort', leave)
      }
    },
    async close() {
      if (isLeft()) return
      // One that has exited is asked again by whoever comes after us, if we die before its end is written down.
      if (!hasExited) await end().tried
      // Docker would only wait until the daemon has heard of the end. The container is none of the shell's.
      if (isToldByItself) signalHolder(shell, 'SIGKILL')
      else {
        await untilGone(() => making.isHeld())
        making.letGo()
      }
      try {
        // First: where that cannot be written down, the output stays, and whoever comes after us hands it over.
        if (missing !== undefined) writeUnkept(place, missing)
        for (const output of ['stdout', 'stderr']) blank(join(place, output), { keepsLength: missing === undefined })
      } finally {
        await (isToldByItself ? liftPlaceholders(id, stateDir) : sweepPlaceholders(stateDir))
      }
    },
    async forget() {
      if (isLeft()) return
      const { tried, gone } = end()
      await tried
      // SECURITY: names are looked up while a tree is removed. A guest that still runs has a directory of its own there, and could aim them
      // at what is not. src/backends/docker/lasting-command: "keeps its place while its container may be there"
      if ((await inTime(gone, mostToBeGoneMs)) === true) return removeTree(place)
      // Whoever writes its end down must not wait for a daemon that is away. What cannot be removed then is swept, which tells why it stays.
      gone.then((isGone) => (isGone ? removeTree(place) : undefined)).catch(() => {})
    },
  }
}

/** What was begun goes on, though nobody waits for it any more. */
async function unless<T>(letGo: AbortSignal, work: Promise<T>): Promise<T> {
  let onAbort = (): void => {}
  const left = new Promise<void>((resolve) => (onAbort = resolve))
  letGo.addEventListener('abort', onAbort, { once: true })
  if (letGo.aborted) onAbort()
  try {
    const told = await Promise.race([work, left])
    refuseIfLetGo(letGo)
    return told as T
  } finally {
    letGo.removeEventListener('abort', onAbort)
  }
}

const isFull = (error: unknown): boolean =>
  isErrno(error, 'ENOSPC', 'EDQUOT') || (isGloveboxError(error) && error.code === 'NO_SPACE')

/**
 * SECURITY: what was handed on has been redacted, and this has not. Its length stays: it tells whoever comes after us how much there was, and
 * that they have all of it. Where they have not, nothing is left that could be taken for the rest.
 * test/attacks/vault-records: "a value that a command printed or kept is in no record of its exec"
 */
function blank(path: string, { keepsLength }: { readonly keepsLength: boolean }): void {
  if (!existsSync(path)) return
  const { size } = statSync(path)
  truncateSync(path, 0)
  if (keepsLength) truncateSync(path, size)
}
