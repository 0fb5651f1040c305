import { describe, expect, it } from 'vitest'
import type { Principal } from './principal.ts'
import { createTickets } from './tickets.ts'

const principal = { tokenId: 'tok_1' } as Principal
const path = '/sandboxes/sbx_1/shells/sh_1/attach'

describe('a ticket', () => {
  it('is good once, and for its own path', () => {
    const tickets = createTickets()
    const { ticket } = tickets.issue(principal, path)
    expect(tickets.redeem(ticket, path)).toBe(principal)
    expect(tickets.redeem(ticket, path)).toBeUndefined()
    const other = tickets.issue(principal, path)
    expect(tickets.redeem(other.ticket, `${path}/`)).toBeUndefined()
    expect(tickets.redeem(other.ticket, path)).toBeUndefined()
  })

  it('is good for half a minute', () => {
    let now = 0
    const tickets = createTickets(() => now)
    const [early, late] = [tickets.issue(principal, path), tickets.issue(principal, path)]
    now = 29_999
    expect(tickets.redeem(early.ticket, path)).toBe(principal)
    now = 30_000
    expect(tickets.redeem(late.ticket, path)).toBeUndefined()
  })

  it('of one token there are a hundred at most; the oldest goes', () => {
    const tickets = createTickets()
    const all = Array.from({ length: 101 }, () => tickets.issue(principal, path).ticket)
    expect(tickets.redeem(all[0] as string, path)).toBeUndefined()
    expect(tickets.redeem(all[1] as string, path)).toBe(principal)
  })
})
