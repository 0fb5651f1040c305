// How a waiting boundary comes under its limits: the gate puts itself there through descriptors that it is given, or, where
// the kernel has no such way or there is no room for them, the host moves it before it gives the word.
import type { LimitGroup } from './limits/limits.ts'

/** The gate, a POSIX shell, can name descriptors of one digit only. */
const highestNameable = 9

export interface Admission {
  /** To be handed on, and their numbers in the gate. */
  readonly descriptors: readonly number[]
  readonly entries: readonly number[]
  admit(pid: number): Promise<void>
}

export function planAdmission(group: LimitGroup | undefined, firstFree: number): Admission {
  const handed = group?.entries ?? []
  if (handed.length > 0 && firstFree + handed.length - 1 <= highestNameable) {
    return { descriptors: handed, entries: handed.map((_, index) => firstFree + index), admit: () => Promise.resolve() }
  }
  return { descriptors: [], entries: [], admit: async (pid) => group?.add(pid) }
}
