import { describe, expect, it } from 'vitest'
import type { TokenScope } from '../../../contract/store.ts'
import type { TokenDesk } from '../../../runtime/server/tokens.ts'
import type { Lister } from '../cursor.ts'
import { unrecorded } from '../recorded.ts'
import type { Call } from '../route.ts'
import { tokenRoutes } from './tokens.ts'

type Issued = Parameters<TokenDesk['issue']>[0]

/** The route itself asks for `admin`, which has every scope; should it ever ask for less, the handler still gives no more than the maker has. */
function make(body: object, own: readonly TokenScope[]) {
  const issued: Issued[] = []
  const issue = async (asked: Issued) => {
    issued.push(asked)
    return { secret: 'gbx_x', info: { id: 'tok_2' } }
  }
  const [route] = tokenRoutes({ desk: { issue } as unknown as TokenDesk, lister: {} as Lister })
  const principal = { tokenId: 'tok_1', scopes: new Set(own), project: 'ours', expiresAt: null }
  const call = { body: { name: 'more', ...body }, principal } as unknown as Call
  return { issued, made: route?.handle(call, unrecorded) }
}

describe('POST /tokens', () => {
  it.each([
    [['read'], ['exec']],
    [['read'], ['read', 'admin']],
    [['read', 'exec'], ['admin']],
  ] as const)('a token of %j makes none of %j', async (own, scopes) => {
    const { made, issued } = make({ scopes }, own)
    await expect(made).rejects.toMatchObject({ code: 'SCOPE_ESCALATION', facts: { field: 'scopes' } })
    expect(issued).toEqual([])
  })

  it('a token makes one of what it has, in its own project', async () => {
    const { made, issued } = make({ scopes: ['read', 'exec'] }, ['read', 'exec'])
    expect(await made).toMatchObject({ status: 201, headers: { location: '/tokens/tok_2' } })
    expect(issued).toMatchObject([{ scopes: ['read', 'exec'], project: 'ours', createdBy: 'tok_1' }])
  })
})
