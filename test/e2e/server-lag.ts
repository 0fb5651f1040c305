// How long a server's loop stood still by its own doing: as the server itself tells it, less the time in which it had no processor, because
// other programs of the machine had it or the host of a virtual one did, and less that in which nobody could make a file on its disk. The
// server tells the longest standstill since it was asked last, and not when it was: it was in a request that took at least as long.
import { readFileSync } from 'node:fs'
import { open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { ServerGround } from './server-ground.ts'

export interface Lag {
  readonly ms: number
  /** So much of it at most was work of its own; the rest is a wait for the disk. No other program of the machine can make it longer. */
  readonly computedMs: number
  /** Where it may have been. */
  readonly during: readonly string[]
}

export interface LagWatch extends AsyncDisposable {
  /** To be called when a request begins; what it gives when it has its answer. One after another. */
  begin(what: string): (answer: string) => Lag | undefined
  ask(): Promise<Lag>
}

interface Asked {
  readonly what: string
  readonly tookMs: number
  readonly awayMs: number
  readonly ranMs: number
}

/** How often the server looks at its loop; it tells that time, too. */
const looksEachMs = 10

export function watchLag({ call, server, directory }: ServerGround): LagWatch {
  let since: Asked[] = []
  const disk = watchDisk(directory)
  const awayMs = (): number => withoutProcessorMs(server.child.pid) + disk.slowMs()
  const lagIn = (answer: string): Lag | undefined => {
    const told = /^glovebox_nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(answer)?.[1]
    if (told === undefined) return undefined
    const stoodMs = 1000 * Number(told) - looksEachMs
    const suspects = since.filter(({ tookMs }) => tookMs >= stoodMs * 0.9)
    // One between two requests is found at the beginning of the next, which is a part of it.
    const possible = suspects.length === 0 ? since : suspects
    since = []
    const longest = (of: (asked: Asked) => number): number => Math.max(0, ...possible.map(of))
    return {
      ms: longest(({ awayMs }) => stoodMs - awayMs),
      computedMs: longest(({ awayMs, ranMs }) => Math.min(stoodMs - awayMs, ranMs)),
      during: possible.map(({ what }) => what),
    }
  }
  const begin: LagWatch['begin'] = (what) => {
    const [begun, before, ranBefore] = [performance.now(), awayMs(), ranMs(server.child.pid)]
    return (answer) => {
      const [tookMs, ran] = [performance.now() - begun, ranMs(server.child.pid) - ranBefore]
      since.push({ what, tookMs, awayMs: awayMs() - before, ranMs: ran })
      return lagIn(answer)
    }
  }
  return {
    begin,
    async ask() {
      const end = begin('GET /metrics')
      const { text } = await call('GET', '/metrics')
      const lag = end(text)
      if (lag === undefined) throw new Error(`the server does not tell how long its loop stood still: ${text}`)
      return lag
    },
    [Symbol.asyncDispose]: () => disk.stop(),
  }
}

interface DiskWatch {
  /** So far, in all. */
  slowMs(): number
  stop(): Promise<void>
}

/** Longer than making and removing an empty file takes where nobody else is in the way. */
const usualMs = 5

/** While a journal is written to disk, whoever changes a directory waits for it, this one as well as the server. */
function watchDisk(directory: string): DiskWatch {
  const file = join(directory, 'asked-for-the-disk')
  let [isOver, total, begun] = [false, 0, performance.now()]
  const slow = (): number => Math.max(0, performance.now() - begun - usualMs)
  const going = (async () => {
    while (!isOver) {
      begun = performance.now()
      await (await open(file, 'w')).close()
      await unlink(file)
      total += slow()
      begun = Number.POSITIVE_INFINITY
      await delay(2)
    }
  })()
  return {
    slowMs: () => total + slow(),
    stop() {
      isOver = true
      return going
    },
  }
}

const ticksMs = 10

/** How long its first thread has waited for a processor, and how long the host has kept processors from this machine. */
function withoutProcessorMs(pid: number | undefined): number {
  const [, waitedNs] = scheduled(pid)
  const [, , , , , , , , stolen] = (readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] ?? '').split(/\s+/)
  return Number(waitedNs) / 1e6 + Number(stolen) * ticksMs
}

const ranMs = (pid: number | undefined): number => Number(scheduled(pid)[0]) / 1e6

/** Of its first thread, in nanoseconds: how long it has had a processor, and how long it has waited for one. */
const scheduled = (pid: number | undefined): readonly string[] =>
  readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')
