// The id of a key: the same in every process, on every server. 64 bits of a hash can be hit by chance or by purpose, so a
// member keeps its whole key, and whoever comes with another one is refused.
import { createHash } from 'node:crypto'
import { chance } from '../contract/chance.ts'
import type { SandboxId } from '../contract/ids.ts'
import type { SandboxKey } from '../contract/provider.ts'
import { GloveboxError } from '../errors/error.ts'

const longestPart = 1024

/** JSON tells the parts apart whatever they hold: ('a', 'bc') and ('ab', 'c') are different texts. */
const written = ({ user, thread }: SandboxKey): string => JSON.stringify([user, thread])

export function idOfKey(key: SandboxKey): SandboxId {
  checkPart('user', key.user)
  checkPart('thread', key.thread)
  return `sbx_${createHash('sha256').update(written(key)).digest('hex').slice(0, 16)}`
}

/** Longer than those of keys, so that none of them is ever one of these. */
export const idWithoutKey = (): SandboxId => `sbx_${chance()}`

export const isSameKey = (one: SandboxKey | null, other: SandboxKey | null): boolean =>
  one === null || other === null ? one === other : one.user === other.user && one.thread === other.thread

/** A hash takes longer than all else that a pool does to find what it has, and who comes once comes again. */
export function rememberIds(idOf: (key: SandboxKey) => SandboxId, most = 1000): typeof idOf {
  const known = new Map<string, SandboxId>()
  return (key) => {
    const text = written(key)
    const before = known.get(text)
    if (before !== undefined) return before
    const id = idOf(key)
    if (known.size >= most) known.clear()
    known.set(text, id)
    return id
  }
}

function checkPart(name: 'user' | 'thread', value: string): void {
  if (typeof value === 'string' && value !== '' && value.length <= longestPart && isUnicode(value)) return
  throw new GloveboxError('INVALID_INPUT', `Cannot name the sandbox: the ${name} of its key is not usable`, {
    hint: `Give a ${name} of 1 to ${longestPart} characters.`,
    facts: { field: name },
  })
}

/** Half a surrogate pair becomes U+FFFD in bytes: two such keys would be one. */
const isUnicode = (text: string): boolean => Buffer.from(text).toString() === text
