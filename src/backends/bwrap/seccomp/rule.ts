// What a rule of the filter is made of. Arguments are compared on their low 32 bits only: every argument that a rule
// reads is an int, an unsigned int or a umode_t to the kernel, which drops the high half, so a compare of all 64 bits
// could be passed by setting a high bit that the kernel then ignores (CVE-2019-10063).
import type { CallName } from './numbers.ts'

// Values of asm-generic/errno.h, the same on x64 and arm64.
export const errnoValues = { EPERM: 1, ENOSYS: 38, EPROTONOSUPPORT: 93, EAFNOSUPPORT: 97 } as const
export type ErrnoName = keyof typeof errnoValues

export type ArgumentIndex = 0 | 1 | 2 | 3 | 4 | 5

/** `anyBit`: the argument shares a bit with the first value. Otherwise the masked argument is, or is not, in the list. */
export interface Condition {
  readonly argument: ArgumentIndex
  readonly holds: 'anyBit' | 'oneOf' | 'noneOf'
  readonly mask: number
  readonly values: readonly number[]
}

/** For one call the rules are tried in the order of the table; the first whose conditions all hold answers. */
export interface Rule {
  readonly calls: readonly CallName[]
  /** All of these must hold; empty or absent: always. */
  readonly when?: readonly Condition[]
  /** The conditions in words, to be read after the names of the calls. */
  readonly asking?: string
  readonly answer: ErrnoName
  readonly reason: string
  /** The title in test/attacks/seccomp that proves it. */
  readonly test: string
}

const allBits = 0xffffffff

export const anyBit = (argument: ArgumentIndex, bits: number): Condition => ({
  argument,
  holds: 'anyBit',
  mask: allBits,
  values: [bits],
})

export const oneOf = (argument: ArgumentIndex, values: readonly number[], mask = allBits): Condition => ({
  argument,
  holds: 'oneOf',
  mask,
  values,
})

export const noneOf = (argument: ArgumentIndex, values: readonly number[], mask = allBits): Condition => ({
  argument,
  holds: 'noneOf',
  mask,
  values,
})
