import { describe, expect, it } from 'vitest'
import type { AuditLog } from '../../runtime/audit.ts'
import { errorTable, type ErrorCode } from '../../errors/table.ts'
import { openRefusals } from './refusals.ts'

type Entry = Parameters<AuditLog['append']>[0]

function open() {
  const entries: Entry[] = []
  const append = (async (entry: Entry) => void entries.push(entry)) as unknown as AuditLog['append']
  return { entries, refusals: openRefusals({ append }, (error) => expect(error).toBeUndefined()) }
}

const refusal = (more: { readonly code?: ErrorCode; readonly route?: string; readonly requestId?: string } = {}) => ({
  code: 'NOT_FOUND' as const,
  actor: 'token:tok_1',
  route: 'get /runs/{run_id}',
  requestId: 'req_1',
  ...more,
})

describe('refusals', () => {
  it('equal ones become one record with their count and the first one’s id', async () => {
    const { entries, refusals } = open()
    for (const requestId of ['req_1', 'req_2', 'req_3']) refusals.note(refusal({ requestId }))
    refusals.note(refusal({ route: 'get /sandboxes' }))
    await refusals.flush()
    expect(entries).toEqual([
      {
        actor: 'token:tok_1',
        action: 'request.refused',
        subject: 'get /runs/{run_id}',
        data: { code: 'NOT_FOUND', count: 3, requestId: 'req_1' },
      },
      expect.objectContaining({ subject: 'get /sandboxes', data: { code: 'NOT_FOUND', count: 1, requestId: 'req_1' } }),
    ])
    await refusals.flush()
    expect(entries).toHaveLength(2)
  })

  it('are what a caller is to blame for, and DRAINING; a fault of the server is none', async () => {
    const { entries, refusals } = open()
    const codes = Object.keys(errorTable) as ErrorCode[]
    for (const code of codes) refusals.note(refusal({ code }))
    await refusals.flush()
    const noted = new Set(entries.map(({ data }) => data?.['code']))
    expect(codes.filter((code) => !noted.has(code) && errorTable[code].http < 500)).toEqual(['CANCELLED'])
    expect(codes.filter((code) => noted.has(code) && errorTable[code].http >= 500)).toEqual(['DRAINING'])
  })

  it('beyond a hundred kinds in a second, how many more there were is one record', async () => {
    const { entries, refusals } = open()
    for (let kind = 0; kind < 105; kind++) refusals.note(refusal({ route: `get /${kind}` }))
    refusals.note(refusal({ route: 'get /104' }))
    refusals.note(refusal({ route: 'get /0' }))
    await refusals.flush()
    expect(entries).toHaveLength(101)
    expect(entries[0]?.data).toMatchObject({ count: 2 })
    expect(entries.at(-1)).toEqual({
      actor: 'several',
      action: 'request.refused',
      subject: '*',
      data: { count: 6, kinds: 'further ones' },
    })
    refusals.note(refusal())
    await refusals.flush()
    expect(entries).toHaveLength(102)
  })
})
