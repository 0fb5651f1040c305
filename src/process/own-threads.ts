// The threads that V8 brings along: collectors and compilers. Where they and the first thread want the same processor, the kernel gives
// each a turn of milliseconds, in which nobody is answered. They are to have what is left, but not so little that the first thread, which
// at times waits for what they have begun, waits long when sandboxes keep all processors busy.
import { readdirSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'

/** About a third of the first one's share. */
export const behindFirstThread = 5

/** To be called before this process has threads of its own, such as workers and those that read and write files: those would be meant, too. */
export function lowerOwnThreads(): void {
  if (process.platform !== 'linux') return
  // Whoever started us may have lowered all of us, and only root may take that back.
  const niceness = Math.min(getPriority() + behindFirstThread, constants.priority.PRIORITY_LOW)
  for (const thread of readdirSync('/proc/self/task').map(Number)) if (thread !== process.pid) lower(thread, niceness)
}

/** Linux takes the number of a thread for one of a process here. */
function lower(thread: number, niceness: number): void {
  try {
    setPriority(thread, niceness)
  } catch (error) {
    // It has ended since it was listed.
    if ((error as { readonly info?: { readonly errno?: number } }).info?.errno !== -constants.errno.ESRCH) throw error
  }
}
