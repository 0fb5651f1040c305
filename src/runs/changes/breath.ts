// A look at a large tree must not hold up whoever else lives in this process, and one at a small tree must not wait for its
// turn: so the loop is given up by time, not by count.
import { setImmediate as turn } from 'node:timers/promises'

/** Of entries that are only looked at; one that is examined counts as many. */
const entriesPerCheck = 32
const entriesPerExamined = 16
const longestMs = 3

export class Breath {
  #entries = 0
  #since = performance.now()

  /** Undefined when it is not time yet; an await would cost more than the entry. */
  take(): Promise<void> | undefined {
    return this.#after(1)
  }

  takeExamined(): Promise<void> | undefined {
    return this.#after(entriesPerExamined)
  }

  #after(entries: number): Promise<void> | undefined {
    this.#entries += entries
    if (this.#entries < entriesPerCheck) return undefined
    this.#entries = 0
    return performance.now() - this.#since < longestMs ? undefined : this.#turn()
  }

  async #turn(): Promise<void> {
    await turn()
    this.#since = performance.now()
  }
}
