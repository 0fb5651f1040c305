import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import { during } from './during.ts'

const sandbox = {} as Sandbox

/** Members that are found, and whether they can still be used by then. */
function ground(...refusals: readonly (GloveboxError | undefined)[]) {
  const seen = { opened: 0, begun: 0, ended: 0 }
  const live = async () => {
    const refusal = refusals[seen.opened]
    seen.opened += 1
    const begin = () => {
      if (refusal !== undefined) throw refusal
      seen.begun += 1
      return { isLost: false, whenLost() {}, end: () => void (seen.ended += 1) }
    }
    return { sandbox, tenure: { id: 'sbx_0123456789abcdef' as const, token: 1, begin } }
  }
  return { live, seen }
}

const gone = new GloveboxError('SANDBOX_GONE', 'Cannot use the sandbox: it was released or destroyed')
const lost = new GloveboxError('LEASE_LOST', 'Cannot use the sandbox: it is somebody else’s')

describe('a use of a member', () => {
  it('that was given back before it has begun opens it again, and is done once', async () => {
    const { live, seen } = ground(gone, gone)
    let done = 0
    expect(await during(live, async () => (done += 1))).toBe(1)
    expect([seen, done]).toEqual([{ opened: 3, begun: 1, ended: 1 }, 1])
  })

  it('that has begun is never done again, whatever comes of it', async () => {
    const { live, seen } = ground()
    await expect(during(live, () => Promise.reject(gone))).rejects.toBe(gone)
    expect(seen).toEqual({ opened: 1, begun: 1, ended: 1 })
  })

  it('that cannot begin for another reason, or never, is refused', async () => {
    const stale = ground(lost)
    await expect(during(stale.live, async () => 1)).rejects.toBe(lost)
    const never = ground(...Array.from({ length: 9 }, () => gone))
    await expect(during(never.live, async () => 1)).rejects.toBe(gone)
    expect([stale.seen.opened, never.seen.opened]).toEqual([1, 5])
  })
})
