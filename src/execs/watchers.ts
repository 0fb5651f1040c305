// Who waits for news of an exec in this process. News of execs that another server works on come by looking again.

export interface Watch {
  /** Something changed since the last time that it was waited for. */
  readonly isNews: boolean
  /** Settles at once if something changed since the last time; else at the next change, after the time, or with the signal. */
  next(withinMs: number, signal?: AbortSignal): Promise<void>
  close(): void
}

/** Output comes often, and is in the files; a state comes seldom, and is in the store. */
export type News = 'output' | 'state'

export interface Watchers {
  /** News of the state, and of the output too if it is asked for. */
  watch(execId: string, news: News): Watch
  changed(execId: string, news: News): void
  /** Everybody looks again: the server is about to stop. */
  wakeAll(): void
}

export function openWatchers(): Watchers {
  const watching = new Map<string, Set<() => void>>()
  const keyOf = (execId: string, news: News): string => `${news} ${execId}`
  const wake = (key: string): void => {
    for (const each of watching.get(key) ?? []) each()
  }
  return {
    watch(execId, news) {
      const key = keyOf(execId, news)
      let isNews = false
      let settle: (() => void) | undefined
      const hear = (): void => {
        isNews = true
        settle?.()
      }
      const hearers = watching.get(key) ?? new Set()
      watching.set(key, hearers.add(hear))
      return {
        get isNews() {
          return isNews
        },
        async next(withinMs, signal) {
          if (!isNews && signal?.aborted !== true) await settled(withinMs, signal, (resolve) => (settle = resolve))
          settle = undefined
          isNews = false
        },
        close() {
          hearers.delete(hear)
          if (hearers.size === 0 && watching.get(key) === hearers) watching.delete(key)
        },
      }
    },
    changed(execId, news) {
      if (news === 'state') wake(keyOf(execId, 'state'))
      wake(keyOf(execId, 'output'))
    },
    wakeAll() {
      for (const key of watching.keys()) wake(key)
    },
  }
}

function settled(
  withinMs: number,
  signal: AbortSignal | undefined,
  take: (resolve: () => void) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, withinMs)
    signal?.addEventListener('abort', done, { once: true })
    take(done)
  })
}
