import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { ProcessExit } from '../../contract/backend.ts'
import type { SpawnedChild } from '../../process/spawn.ts'
import { followBwrap } from './process.ts'

/** A bwrap whose first process ends with this code, as the gate does when no word comes. */
function ended(code: number, { isKilledFirst }: { readonly isKilledFirst: boolean }): Promise<ProcessExit> {
  const [status, word] = [new PassThrough(), new PassThrough()]
  const end = Promise.resolve({ code, signal: null })
  // No process has this number.
  const child = { pid: 2 ** 30, pipes: [status, word], ended: end, kill: () => true } as unknown as SpawnedChild
  const { exit, kill } = followBwrap(child, { admit: async () => {}, tookMemory: async () => false })
  if (isKilledFirst) kill()
  status.end(`{ "child-pid": ${2 ** 30 + 1} }\n{ "exit-code": ${code} }\n`)
  return exit
}

describe('a bwrap that is followed', () => {
  it('and killed before its command was let through has not ended by a code of its own', async () => {
    expect(await ended(125, { isKilledFirst: true })).toEqual({ signal: 'SIGKILL' })
    expect(await ended(125, { isKilledFirst: false }), 'control: a command may end so').toEqual({ code: 125 })
  })
})
