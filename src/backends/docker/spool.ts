// Output that somebody else writes into files, handed on as it comes, and the end that is written when there will be no more.
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  read,
  readFileSync,
  statSync,
  watch,
  writeSync,
  type FSWatcher,
  type Stats,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { LastingFollow } from '../../contract/lasting.ts'
import { GloveboxError } from '../../errors/error.ts'
import { isErrno } from '../../paths/refusal.ts'
import { statusBytes } from './holding.ts'
import { codeOfKilled } from './late-memory.ts'
import { outOfMemory } from './once.ts'
import { elsewhere } from './sight.ts'

const readAsync = promisify(read)
const pieceBytes = 256 * 1024
const shortestMs = 5
const longestMs = 100
const lookAtWriterMs = 1000

export interface SpoolEnd {
  readonly code: number
  /** Of the command itself, told by the first process of its container when nothing ran any more. Else it is docker's. */
  readonly isOwn: boolean
  /** The container shows something else than what was meant to be there, and nothing has run. */
  readonly isElsewhere?: boolean
  /** It was killed for want of memory, as the kernel has told that process. */
  readonly isOfMemory?: boolean
}

/** Some of the output could not be written, since the disk was full, or for another reason. The command may still run. */
export interface Unkept {
  readonly unkept: 'full' | 'fault'
}

/** Undefined if the writer is gone without having told the end. */
export async function followSpool(
  place: string,
  { from, onStdout, onStderr, letGo }: LastingFollow,
  isWriterAlive: () => boolean,
): Promise<SpoolEnd | Unkept | undefined> {
  const handOver = (take: LastingFollow['onStdout']) => (chunk: Uint8Array) => {
    refuseIfLetGo(letGo)
    return take(chunk)
  }
  const stdout = openTail(join(place, 'stdout'), from.stdout, handOver(onStdout))
  const stderr = openTail(join(place, 'stderr'), from.stderr, handOver(onStderr))
  const bell = hangBell(place)
  letGo?.addEventListener('abort', bell.ring)
  let lookedAt = performance.now()
  let movedAt = lookedAt
  const look = async (): Promise<{ readonly end: SpoolEnd | Unkept | undefined } | undefined> => {
    // The end first: what is in the files then is all.
    const status = readStatus(place)
    const moved = (await stdout()) + (await stderr())
    if (isWhole(status)) return { end: endIn(status) }
    if (moved > 0) movedAt = performance.now()
    if (performance.now() - lookedAt <= lookAtWriterMs) return undefined
    lookedAt = performance.now()
    if (isWriterAlive() || isWhole(readStatus(place))) return undefined
    await stdout()
    await stderr()
    return { end: undefined }
  }
  try {
    for (;;) {
      refuseIfLetGo(letGo)
      const seen = await look().catch(undefinedIfBlind)
      refuseIfLetGo(letGo)
      if (seen !== undefined) return seen.end
      await bell.rung(pauseAfter(performance.now() - movedAt))
    }
  } finally {
    letGo?.removeEventListener('abort', bell.ring)
    bell.close()
  }
}

/** Nothing is written here for a command that another process follows: what two write to one file is there twice. */
export function refuseIfLetGo(letGo: AbortSignal | undefined): void {
  if (letGo?.aborted === true)
    throw new GloveboxError('CANCELLED', 'Cannot follow the command any more: another server has the command')
}

/** When the end was written there, by the time of day. */
export const endedAt = (place: string): number | undefined => (hasEnd(place) ? statusAt(place)?.mtimeMs : undefined)

/**
 * The end is written there, whoever may have read it. Without descriptors its length tells, since the last byte of it comes last. False
 * where it cannot be seen: a timer asks for this, who has nobody to tell of it. Whoever follows hears of the fault.
 */
export function hasEnd(place: string): boolean {
  try {
    return isWhole(readStatus(place))
  } catch (error) {
    return error instanceof Blind && (statusAt(place)?.size ?? 0) >= statusBytes
  }
}

function statusAt(place: string): Stats | undefined {
  try {
    return statSync(join(place, 'status'), { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** In the place of an end. Whoever comes after us must not take what is missing for output, nor its end for that of all of it. */
export function writeUnkept(place: string, { unkept }: Unkept): void {
  // In place, where it takes no room: the disk may be full.
  const fd = openSync(join(place, 'status'), constants.O_WRONLY | constants.O_CREAT, 0o600)
  try {
    writeSync(fd, `${unkept.padEnd(statusBytes - 1)}\n`, 0)
  } finally {
    closeSync(fd)
  }
}

/** Out of descriptors for now. What is there stays there, and is looked at again. */
class Blind extends Error {}

function seeing<T>(open: () => T): T {
  try {
    return open()
  } catch (error) {
    throw isErrno(error, 'EMFILE', 'ENFILE') ? new Blind() : error
  }
}

/** What is handed on to somebody else may fail for the same reason, and is not handed on twice. */
function undefinedIfBlind(error: unknown): undefined {
  if (!(error instanceof Blind)) throw error
}

interface Bell {
  readonly ring: () => void
  rung(mostMs: number): Promise<void>
  close(): void
}

/** Rings when the end is there, so that nobody waits for the next look. Where the kernel watches nothing more, the look has to do. */
function hangBell(place: string): Bell {
  let hasRung = false
  let wake = (): void => {}
  const ring = (): void => {
    hasRung = true
    wake()
  }
  const watcher = watchOrUndefined(place, (name) => {
    if (name === 'status') ring()
  })
  return {
    ring,
    async rung(mostMs) {
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        wake = resolve
        if (hasRung) resolve()
        else timer = setTimeout(resolve, mostMs)
      })
      clearTimeout(timer)
      hasRung = false
    },
    close: () => watcher?.close(),
  }
}

function watchOrUndefined(place: string, onChange: (name: string | null) => void): FSWatcher | undefined {
  try {
    const watcher = watch(place, (_, name) => onChange(name))
    return watcher.on('error', () => watcher.close())
  } catch {
    return undefined
  }
}

/** A twentieth of the silence so far: whoever waits waits for little more than it took, and a long silence costs next to nothing. */
const pauseAfter = (silentMs: number): number => Math.min(Math.max(shortestMs, silentMs / 20), longestMs)

function readStatus(place: string): string | undefined {
  try {
    return seeing(() => readFileSync(join(place, 'status'), 'utf8'))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

/** It is written in place, by one who has nothing but a shell. */
const isWhole = (status: string | undefined): status is string => status?.endsWith('\n') === true

function endIn(status: string): SpoolEnd | Unkept | undefined {
  const [, own, code, word] = /^(?:(exit )?(\d{1,3})|([a-z]+)) *\n$/.exec(status) ?? []
  if (word === 'full' || word === 'fault') return { unkept: word }
  if (word === elsewhere) return { code: 125, isOwn: true, isElsewhere: true }
  if (word === outOfMemory) return { code: codeOfKilled, isOwn: true, isOfMemory: true }
  return code === undefined ? undefined : { code: Number(code), isOwn: own !== undefined }
}

/** Hands over what is new, and tells how much that was. */
function openTail(
  path: string,
  from: number,
  take: (chunk: Uint8Array) => void | Promise<void>,
): () => Promise<number> {
  let at = from
  return async () => {
    if (!existsSync(path)) return 0
    const fd = seeing(() => openSync(path, 'r'))
    const begun = at
    try {
      for (;;) {
        const piece = Buffer.allocUnsafe(pieceBytes)
        const { bytesRead } = await readAsync(fd, piece, 0, pieceBytes, at)
        if (bytesRead === 0) return at - begun
        at += bytesRead
        await take(piece.subarray(0, bytesRead))
      }
    } finally {
      closeSync(fd)
    }
  }
}
