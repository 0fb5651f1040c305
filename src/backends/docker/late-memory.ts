// The kernel kills what takes too much memory, and the word of it reaches the daemon on another way than the end does: sometimes
// later. So whoever finds a container killed, and nothing said of its memory, asks again for a while before it believes that.
import { setTimeout as delay } from 'node:timers/promises'
import type { DockerCli } from './cli.ts'

export const codeOfKilled = 137
const pausesMs = [100, 300, 800]

/** True as soon as it is told; false when it was not told in time. */
export async function isToldOfMemory(ask: () => Promise<boolean>): Promise<boolean> {
  for (const pauseMs of pausesMs) {
    if (await ask()) return true
    await delay(pauseMs)
  }
  return ask()
}

/** The daemon remembers its last events, also those of a container that is gone. */
export async function hasEventOfMemory(cli: DockerCli, name: string, since: string): Promise<boolean> {
  const filters = [`container=${name}`, 'event=oom'].flatMap((filter) => ['--filter', filter])
  const { stdout } = await cli.ask(['events', `--since=${since}`, `--until=${inSeconds(Date.now() + 1)}`, ...filters])
  return stdout.trim() !== ''
}

export const inSeconds = (timeMs: number): string => (timeMs / 1000).toFixed(3)
