import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HostPath } from '../../contract/mount.ts'
import { openLifetimes, type LifetimesOptions } from '../pool/lifetimes.ts'
import type { Member } from '../pool/member.ts'
import type { MemberRecord } from '../pool/record.ts'
import { firstRecord } from '../pool/request.ts'
import { openProvisioning } from './provisioning.ts'

const id = 'sbx_0123456789abcdef'
let state: HostPath
let record: MemberRecord
let steps: string[]
let isHere: boolean
/** What comes to pass while it is done. */
let between: Partial<Record<'keep' | 'open', () => void>>
let shells: number

const rest = (): void => {
  steps.push('rest')
  isHere = false
}

/** With nothing behind it. */
const member = {
  id,
  get record() {
    return record
  },
  isOver: false,
  tenure: { begin: () => ({ end: () => {}, isLost: false }) },
  sandbox: {
    describe: () => ({ mounts: [] }),
    shells: { list: async () => Array.from({ length: shells }, () => ({})) },
  },
  shut: async () => void steps.push('shut'),
  async keep(changed: MemberRecord) {
    record = changed
    steps.push('keep')
    between.keep?.()
  },
  async open() {
    steps.push('open')
    between.open?.()
  },
} as unknown as Member

const pool = {
  find: () => (isHere ? member : undefined),
  use: () => member,
  list: () => [{ id, works: 0 }],
} as unknown as LifetimesOptions['pool']

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'glovebox-provisioning-')) as HostPath
  // One that stands on layers is closed before it is opened with others.
  const first = firstRecord(id, null, {}, { backend: 'bwrap', layout: 'workspace', lifeMs: 60_000 })
  record = { ...first, layers: [`snap_${'0'.repeat(32)}`] }
  steps = []
  isHere = true
  between = {}
  shells = 0
})
afterEach(() => rmSync(state, { recursive: true, force: true }))

function provision(): ReturnType<ReturnType<typeof openProvisioning>> {
  const members = { read: () => record, hasEnded: () => false } as unknown as LifetimesOptions['members']
  const lifetimes = openLifetimes({ state, pool, members, methodFor: async () => ({ by: 'overlay', why: null }) })
  const offers = { tools: { hostPath: state, mode: 'ro' as const } }
  const asked = { mounts: { add: [{ name: 'tools', guestPath: '/tools' }] } }
  return openProvisioning({ lifetimes, offers, vaults: {} })(id, asked)
}

describe('a sandbox on layers that is given another mount', () => {
  it('is closed before and open behind, and tells what was lost', async () => {
    shells = 2
    expect(await provision()).toEqual({ lost: ['what 2 shell(s) remembered, and what ran in them'] })
    expect([steps, record.provisioned?.mounts]).toMatchObject([['shut', 'keep', 'open'], [{ name: 'tools' }]])
  })

  it('is not opened again where it was laid to rest while it was closed', async () => {
    between.keep = rest
    await provision()
    expect([steps, record.provisioned?.mounts]).toMatchObject([['shut', 'keep', 'rest'], [{ name: 'tools' }]])
  })

  it('is not left open where it was laid to rest while it was opened', async () => {
    between.open = rest
    await provision()
    expect(steps).toEqual(['shut', 'keep', 'open', 'rest', 'shut'])
  })

  it('is as it was where it cannot be opened so', async () => {
    between.open = () => {
      between = {}
      throw new Error('it cannot be opened')
    }
    await expect(provision()).rejects.toThrow('it cannot be opened')
    expect([steps.at(-1), record.provisioned]).toEqual(['open', undefined])
  })
})
