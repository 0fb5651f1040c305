// Ctrl-C and its kin. The first asks the command to end, tree and all; the second ends us at once, and the boundary
// takes the tree with it.
const watched = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type WatchedSignal = (typeof watched)[number]

export interface Interrupts {
  readonly signal: AbortSignal
  readonly received: WatchedSignal | undefined
  abort(): void
  stop(): void
}

export function watchInterrupts(): Interrupts {
  const controller = new AbortController()
  let received: WatchedSignal | undefined
  const onSignal = (name: WatchedSignal): void => {
    if (received !== undefined) {
      stop()
      process.kill(process.pid, name)
      return
    }
    received = name
    controller.abort()
  }
  const stop = (): void => {
    for (const name of watched) process.removeListener(name, onSignal)
  }
  for (const name of watched) process.on(name, onSignal)
  return {
    signal: controller.signal,
    get received() {
      return received
    },
    abort: () => controller.abort(),
    stop,
  }
}
