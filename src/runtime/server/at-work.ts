// What is under way in sandboxes for those who asked for it. A server that is about to stop lets it end.

export interface AtWork {
  readonly count: number
  /** Returns what ends it. */
  begin(): () => void
  during<Value>(work: () => Promise<Value>): Promise<Value>
}

export function countWork(): AtWork {
  let count = 0
  const begin = (): (() => void) => {
    count += 1
    return () => void (count -= 1)
  }
  return {
    get count() {
      return count
    },
    begin,
    async during(work) {
      const end = begin()
      try {
        return await work()
      } finally {
        end()
      }
    },
  }
}
