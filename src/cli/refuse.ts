// Flags that mean nothing beside others. None is passed over, since it could be one that somebody counts on.
import { GloveboxError } from '../errors/error.ts'

export interface Refusing {
  /** `with a server`: beside what they mean nothing. */
  readonly beside: string
  readonly cause: string
  readonly hint: string
}

export function refuseGiven(flags: object, names: readonly string[], { beside, cause, hint }: Refusing): void {
  const given = names.filter((name) => (flags as Readonly<Record<string, unknown>>)[nameOf(name)] !== undefined)
  if (given.length === 0) return
  throw new GloveboxError('INVALID_INPUT', `Cannot use ${given.join(', ')} ${beside}: ${cause}.`, { hint })
}

/** `--prompt-file` is `promptFile`. */
const nameOf = (flag: string): string =>
  flag.replace(/^--/, '').replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
