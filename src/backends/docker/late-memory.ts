// The kernel kills what takes too much memory, and the word of it reaches the daemon on another way than the end does: sometimes
// later, and the later the more else the host has to do. So whoever finds a container killed, and nothing said of its memory, asks again
// for a while before it believes that; unless the kernel itself says that it has killed nothing meanwhile.
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { DockerCli } from './cli.ts'

export const codeOfKilled = 137
const answerMs = 10_000
/** Under load it was seen to come 1.6 seconds after the end. */
const usualPausesMs = [100, 300, 800, ...Array.from({ length: 6 }, () => 1600)]

/** How many processes the kernel of this host has killed for want of memory, in any group. Undefined where it does not tell. */
export function killsOnHost(): number | undefined {
  try {
    const count = /^oom_kill (\d+)$/m.exec(readFileSync('/proc/vmstat', 'utf8'))?.[1]
    return count === undefined ? undefined : Number(count)
  } catch {
    return undefined
  }
}

/** Of a container: whether the kernel has killed anything for want of memory since it was started, as far as we know. */
export type MayBeOfMemory = () => boolean

/** `killsBefore` was counted on the daemon's host. Undefined: not known. */
export const anyKillSince =
  (killsBefore: number | undefined): MayBeOfMemory =>
  () =>
    killsBefore === undefined || killsBefore !== killsOnHost()

interface Patience {
  readonly mayBeOfMemory: MayBeOfMemory
  /** Its time may be over meanwhile, or somebody ends it. */
  readonly isWaitedFor: () => boolean
  readonly pausesMs?: readonly number[]
}

/** True as soon as it is told; false when it was not told in time, or cannot be. */
export async function isToldOfMemory(
  ask: () => Promise<boolean>,
  { mayBeOfMemory, isWaitedFor, pausesMs = usualPausesMs }: Patience,
): Promise<boolean> {
  for (const pauseMs of pausesMs) {
    if (await ask()) return true
    if (!mayBeOfMemory() || !isWaitedFor()) return false
    await delay(pauseMs)
  }
  return ask()
}

/** The daemon remembers its last events, also those of a container that is gone. */
export async function hasEventOfMemory(cli: DockerCli, name: string, since: string): Promise<boolean> {
  const filters = [`container=${name}`, 'event=oom'].flatMap((filter) => ['--filter', filter])
  const words = ['events', `--since=${since}`, `--until=${inSeconds(Date.now() + 1)}`, ...filters]
  const { code, stdout } = await cli.ask(words, { deadlineMs: answerMs })
  return code === 0 && stdout.trim() !== ''
}

export const inSeconds = (timeMs: number): string => (timeMs / 1000).toFixed(3)
