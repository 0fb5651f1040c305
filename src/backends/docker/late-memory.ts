// The kernel kills what takes too much memory, and the word of it reaches the daemon on another way than the end does: sometimes
// later. So whoever finds a container killed, and nothing said of its memory, asks again for a while before it believes that.
import { setTimeout as delay } from 'node:timers/promises'

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
