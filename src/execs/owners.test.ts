import { describe, expect, it } from 'vitest'
import type { ExecRow, Store } from '../contract/store.ts'
import { formatHolder, thisHolder } from '../paths/holder.ts'
import type { Boundaries } from './boundaries.ts'
import type { Execs } from './execs.ts'
import type { Ground } from './ground.test-support.ts'
import { execsForEach, type OpenedForTest } from './opened.test-support.ts'
import { readMeta, writeMeta } from './record.ts'
import { exit, stage } from './stage.test-support.ts'

let ground: Ground
let store: Store
let open: OpenedForTest['open']
execsForEach((opened) => ({ ground, store, open } = opened))

const submit = async (execs: Execs, command: string, env: Readonly<Record<string, string>> = {}): Promise<ExecRow> =>
  (
    await execs.submit({
      request: { exec: { kind: 'shell', command, env } },
      project: 'project',
      bodySha256: 'a'.repeat(64),
      early: true,
    })
  ).row

/** Until it is called, those who wait for it wait. */
function gate() {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}

const names = async (): Promise<readonly string[]> => (await store.owners.list()).map(({ owner }) => owner)
const find = async (row: ExecRow): Promise<ExecRow> => (await store.execs.find(row.exec_id)) as ExecRow
const untilRunning = async (row: ExecRow): Promise<void> => {
  await expect.poll(async () => (await find(row)).status).toBe('RUNNING')
}

/** As another server does it that has heard nothing of this one for too long. The name that it went on under. */
async function declareDead(name: string): Promise<string> {
  await store.owners.remove(name)
  await expect.poll(names).toHaveLength(1)
  const [next = ''] = await names()
  expect(next).not.toBe(name)
  return next
}

const left = async (change: Partial<ExecRow>): Promise<ExecRow> => {
  const row = ground.exec({ owner: 'srv_dead', ...change })
  await writeMeta(ground.root, row, { sync: false })
  await store.execs.insert(row)
  return row
}

describe('a server that others believed dead', () => {
  it('goes on under another name, and what it takes from then on ends as it ends', async () => {
    const execs = await open({ beatMs: 10 })
    for (let times = 0; times < 3; times++) {
      const [name = ''] = await names()
      await declareDead(name)
      for (const row of [await submit(execs, 'hello'), await submit(execs, 'hello', { A: 'b' })])
        expect(await execs.wait(row.exec_id)).toMatchObject({ status: 'SUCCEEDED' })
    }
  })

  it('ends what another was given, and leaves its record to the other', async () => {
    const execs = await open({ beatMs: 10 })
    const taken = await submit(execs, 'hang')
    await untilRunning(taken)
    const [name = ''] = await names()
    const theirs = await store.execs.takeOver(taken.exec_id, { from: name, to: 'srv_other' })
    await declareDead(name)
    await expect.poll(() => execs.running).toBe(0)
    expect(await find(taken)).toEqual(theirs)
  })

  it('neither runs nor records what another was given before it began', async () => {
    const { open: release, opened: released } = gate()
    const { open: enter, opened: preparing } = gate()
    const ran: string[] = []
    const { prepare, ...rest } = stage(async (script) => {
      ran.push(script)
      return exit(0)
    })
    const boundaries: Boundaries = {
      ...rest,
      async prepare(wanted) {
        enter()
        await released
        return prepare(wanted)
      },
    }
    const execs = await open({ boundaries })
    const taken = await submit(execs, 'hello')
    await preparing
    const [name = ''] = await names()
    const theirs = await store.execs.takeOver(taken.exec_id, { from: name, to: 'srv_other' })
    await writeMeta(ground.root, { ...(theirs as ExecRow), status: 'LOST' }, { sync: false })
    release()
    await expect.poll(() => execs.running).toBe(0)
    expect([ran, readMeta(ground.root, taken)?.status, await find(taken)]).toEqual([[], 'LOST', theirs])
  })

  it('keeps what nobody has taken: what runs goes on, and what waits has its environment', async () => {
    const { open: release, opened: released } = gate()
    const boundaries = stage(async () => {
      await released
      return exit(0)
    })
    const execs = await open({ beatMs: 10, boundaries, limits: { maxConcurrent: 1 } })
    const running = await submit(execs, 'wait')
    await untilRunning(running)
    const waiting = await submit(execs, 'wait', { A: 'b' })
    const [name = ''] = await names()
    const next = await declareDead(name)
    for (const row of [running, waiting]) await expect.poll(async () => (await find(row)).owner).toBe(next)
    release()
    for (const row of [running, waiting])
      expect(await execs.wait(row.exec_id)).toMatchObject({ status: 'SUCCEEDED', owner: next })
  })
})

describe('a server among others', () => {
  const leaveDead = async (): Promise<ExecRow> => {
    // Of this machine, so that nobody has to wait to see it: another process has its pid.
    const facts = { holder: formatHolder({ ...thisHolder(), startTime: '1' }) }
    const row = await left({ status: 'RUNNING', boundary_id: 'sbx_0123456789' })
    await store.owners.add({ owner: 'srv_dead', facts, created_at: new Date().toISOString() })
    return row
  }
  const countBeats = async (): Promise<number> =>
    (await store.owners.list()).reduce((sum, { owner, beat }) => (owner === 'srv_dead' ? sum : sum + beat), 0)

  it.each(['begins', 'runs'])('beats while it %s and cares for what a dead one left', async (when) => {
    const { open: release, opened: released } = gate()
    const { open: enter, opened: caring } = gate()
    const destroy = (): Promise<void> => {
      enter()
      return released
    }
    if (when === 'begins') await leaveDead()
    const opening = open({ beatMs: 10, boundaries: { ...stage(), destroy } })
    if (when === 'runs') await opening.then(leaveDead)
    await caring
    const before = await countBeats()
    await expect.poll(countBeats).toBeGreaterThan(before + 2)
    release()
    await opening
    await expect.poll(names).not.toContain('srv_dead')
  })

  it('strikes a dead one off when all of its execs have been taken, and not before', async () => {
    let isMended = false
    let tries = 0
    const takeOver: Store['execs']['takeOver'] = async (execId, change) => {
      tries += 1
      if (!isMended) throw new Error('the database stumbles')
      return store.execs.takeOver(execId, change)
    }
    await open({ beatMs: 10, store: { ...store, execs: { ...store.execs, takeOver } } })
    const row = await leaveDead()
    await expect.poll(() => tries).toBeGreaterThan(2)
    expect(await names()).toContain('srv_dead')
    isMended = true
    await expect.poll(async () => (await find(row)).status).toBe('LOST')
    await expect.poll(names).not.toContain('srv_dead')
  })

  it('takes what is left of one that is listed no more, when that has been so for as long as others wait', async () => {
    await open({ beatMs: 10, graceMs: 1000 })
    const row = await left({ owner: 'srv_gone', status: 'RUNNING', boundary_id: 'sbx_0123456789' })
    await expect.poll(async () => (await find(row)).status).toBe('LOST')
  })

  it('that begins at the same time does not take the execs of the other', async () => {
    let theirs: { readonly execs: Execs; readonly row: ExecRow } | undefined
    /** The other one begins, and claims, just before the first looks at what is open. */
    const owners: Store['execs']['owners'] = async () => {
      if (theirs === undefined) {
        const execs = await open()
        theirs = { execs, row: await submit(execs, 'hang') }
        await untilRunning(theirs.row)
      }
      return store.execs.owners()
    }
    await open({ store: { ...store, execs: { ...store.execs, owners } }, limits: { maxConcurrent: 0 } })
    if (theirs === undefined) throw new Error('nobody looked at what is open')
    expect(await find(theirs.row)).toMatchObject({ status: 'RUNNING' })
    expect(await theirs.execs.cancel(theirs.row.exec_id)).toMatchObject({ status: 'CANCELLED' })
  })
})
