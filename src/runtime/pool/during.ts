// One use of a member, from its beginning to its end. Others may give the same member back, or the reaper may find it idle, between the
// moment in which it was found and the one in which it is used: then nothing has begun yet, and it is opened again.
import type { Sandbox } from '../../contract/sandbox.ts'
import { isGloveboxError } from '../../errors/error.ts'
import type { Work } from '../../pool/ports.ts'
import type { Member } from './member.ts'

type Used = Pick<Member, 'sandbox' | 'tenure'>

/** So many others would have to come between, one after the other. */
const mostTries = 5

export async function during<Value>(
  live: () => Promise<Used>,
  use: (sandbox: Sandbox) => Promise<Value>,
): Promise<Value> {
  const { sandbox, work } = await begin(live)
  try {
    return await use(sandbox)
  } finally {
    work.end()
  }
}

async function begin(live: () => Promise<Used>): Promise<{ readonly sandbox: Sandbox; readonly work: Work }> {
  for (let tries = 1; ; tries += 1) {
    const member = await live()
    try {
      const { sandbox } = member
      return { sandbox, work: member.tenure.begin() }
    } catch (error) {
      if (tries === mostTries || !isGloveboxError(error) || error.code !== 'SANDBOX_GONE') throw error
    }
  }
}
