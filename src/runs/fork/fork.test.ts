import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ForkMethod } from '../../contract/fork.ts'
import { codeOf, groundForEach } from '../ground.test-support.ts'
import { openRun } from '../open.ts'
import { createRun, type Run } from '../run.ts'
import { readRun } from '../reader.ts'
import { verifyRun } from '../verify.ts'
import { planFork, type ForkOptions, type Parent } from './fork.ts'
import { findFork, layersOrGone, layersUnder } from './record.ts'
import { requireUnchanged } from './unchanged.ts'

const ground = groundForEach()

async function ended(make: (workspace: string) => void): Promise<Parent> {
  const run = await ground().create()
  make(join(run.directory, 'workspace'))
  await run.transition('running')
  await run.transition('completed')
  await run.close()
  return { directory: run.directory, record: run.record }
}

async function fork(parent: Parent, by: ForkMethod, name = 'fork', clock: Pick<ForkOptions, 'now'> = {}): Promise<Run> {
  const directory = join(ground().directory, name)
  const runId = `run_${name}`
  const point = { seq: parent.record.state_seq, eventHash: parent.record.state_hash }
  const why = by === 'overlay' ? null : 'a copy was asked for'
  const plan = await planFork({ parent, point, runId, directory, by, why, ...clock })
  const options = { runId, forkedFrom: plan.record.forked_from, beginning: plan.beginning }
  return createRun({ config: {}, prompt: 'again', sandboxPath: directory, ...options })
}

const plain = (workspace: string): void => {
  mkdirSync(join(workspace, 'd'))
  writeFileSync(join(workspace, 'd/f'), 'f')
  symlinkSync('d/f', join(workspace, 'l'))
}

describe('a fork', () => {
  it('by overlay holds nothing, and names what lies under it', async () => {
    const parent = await ended(plain)
    const run = await fork(parent, 'overlay')
    expect(readdirSync(join(run.directory, 'workspace'))).toEqual([])
    expect(findFork(run.directory)).toMatchObject({ by: 'overlay', why: null, forked_from: { seq: 3 } })
    expect(layersUnder(run.directory)).toEqual([join(parent.directory, 'workspace')])
    await run.close()
  })

  it('of a fork has the layers of both, the nearest first', async () => {
    const parent = await ended(plain)
    const child = await fork(parent, 'overlay', 'child')
    await child.close()
    const grandchild = await fork({ directory: child.directory, record: child.record }, 'overlay', 'grandchild')
    expect(layersUnder(grandchild.directory)).toEqual(
      [child.directory, parent.directory].map((directory) => join(directory, 'workspace')),
    )
    await grandchild.close()
  })

  it('by copy has everything as it was, and stands alone', async () => {
    const parent = await ended((workspace) => {
      plain(workspace)
      utimesSync(join(workspace, 'd/f'), 1000, 1000)
    })
    const run = await fork(parent, 'copy')
    const workspace = join(run.directory, 'workspace')
    expect(readFileSync(join(workspace, 'd/f'), 'utf8')).toBe('f')
    expect(readlinkSync(join(workspace, 'l'))).toBe('d/f')
    expect(lstatSync(join(workspace, 'd/f')).mtimeMs).toBe(1_000_000)
    expect(layersUnder(run.directory)).toEqual([])
    await run.close()
  })

  it('of a run at work is refused', async () => {
    const run = await ground().create()
    await run.transition('running')
    const parent = { directory: run.directory, record: run.record }
    expect(await codeOf(() => fork(parent, 'copy'))).toBe('BUSY')
    expect(readdirSync(ground().directory)).toEqual(['run-1'])
  })

  it('that was not started is no crash, and can be opened', async () => {
    const run = await fork(await ended(plain), 'copy')
    await run.close()
    const { run: again, repairs } = await openRun(run.directory)
    expect([again.record.status, repairs]).toEqual(['pending', []])
    await again.close()
  })

  it('has a record that verify vouches for', async () => {
    const run = await fork(await ended(plain), 'copy')
    await run.close()
    expect((await verifyRun(run.directory)).ok).toBe(true)
    const path = join(run.directory, 'archive/fork.json')
    const text = readFileSync(path, 'utf8')
    expect(lstatSync(path).mode & 0o222).toBe(0)
    rmSync(path)
    writeFileSync(path, text.replace('"copy"', '"overlay"'))
    expect((await verifyRun(run.directory)).findings.map(({ subject }) => subject)).toContain('archive/fork.json')
  })

  it('whose ground is gone says so, and can end all the same', async () => {
    const parent = await ended(plain)
    const run = await fork(parent, 'overlay')
    renameSync(parent.directory, `${parent.directory}-elsewhere`)
    expect(layersOrGone(run.directory)).toBe('gone')
    await run.transition('running')
    await run.transition('completed')
    const manifest = await run.artifacts()
    expect([manifest.complete, manifest.stopped]).toEqual([false, ['unreadable']])
    await run.close()
    expect((await readRun(run.directory)).record?.status).toBe('completed')
  })
})

describe('what lies under a fork', () => {
  const standing = async (): Promise<{ readonly run: Run; readonly workspace: string }> => {
    const parent = await ended(plain)
    const run = await fork(parent, 'overlay')
    await run.close()
    return { run, workspace: join(parent.directory, 'workspace') }
  }
  const look = async ({ directory }: Run): Promise<string> => {
    const record = findFork(directory)
    return record === undefined ? 'no fork' : codeOf(() => requireUnchanged(directory, record))
  }

  it('a fork is started only if nothing in its layers has changed since', async () => {
    const { run, workspace } = await standing()
    expect(await look(run)).toBe('nothing was thrown')
    writeFileSync(join(workspace, 'd/f'), 'g')
    utimesSync(join(workspace, 'd/f'), 1000, 1000)
    expect(await look(run)).toBe('CONFLICT')
  })

  it.each([
    ['a new file', (workspace: string) => writeFileSync(join(workspace, 'd/new'), '')],
    ['a new link', (workspace: string) => symlinkSync('x', join(workspace, 'new'))],
  ])('%s is noticed', async (_, change) => {
    const { run, workspace } = await standing()
    change(workspace)
    expect(await look(run)).toBe('CONFLICT')
  })

  /** The step that lays the fork, alone: what else is written on the way takes longer than a tick of most clocks. */
  const laid = async (parent: Parent, name: string) => {
    const directory = join(ground().directory, name)
    for (const place of ['workspace', 'archive']) mkdirSync(join(directory, place), { recursive: true })
    const point = { seq: parent.record.state_seq, eventHash: parent.record.state_hash }
    const plan = await planFork({ parent, point, runId: `run_${name}`, directory, by: 'overlay', why: null })
    await plan.beginning.fill(directory)
    return { directory, record: plan.record }
  }

  it('a change right after the fork is noticed, and work right before it is none', async () => {
    const seen: string[] = []
    const parent = await ended(plain)
    const file = join(parent.directory, 'workspace/d/f')
    for (let round = 0; round < 25; round++) {
      writeFileSync(file, `before ${round}`)
      const { directory, record } = await laid(parent, `fork-${round}`)
      seen.push(await codeOf(() => requireUnchanged(directory, record)))
      // Another one, so that nobody has looked at the file in between: its stamp may be as coarse as the clock.
      const next = await laid(parent, `next-${round}`)
      writeFileSync(file, `after ${round}`)
      seen.push(await codeOf(() => requireUnchanged(next.directory, next.record)))
    }
    expect(seen).toEqual(Array.from({ length: 25 }, () => ['nothing was thrown', 'CONFLICT']).flat())
  })

  it('a fork is refused, and leaves nothing, where the clock that stamps changes does not come past its moment', async () => {
    const parent = await ended(plain)
    const aheadMs = Date.now() + 60_000
    expect(await codeOf(() => fork(parent, 'overlay', 'ahead', { now: () => aheadMs }))).toBe('TIMED_OUT')
    expect(readdirSync(ground().directory)).toEqual(['run-1'])
    const copy = await fork(parent, 'copy', 'copy', { now: () => aheadMs })
    await copy.close()
  })

  it('another history under the same id is noticed', async () => {
    const { run } = await standing()
    const record = findFork(run.directory)
    expect(record).toBeDefined()
    if (record !== undefined)
      expect(await codeOf(() => requireUnchanged(run.directory, { ...record, event_hash: '0'.repeat(64) }))).toBe(
        'CONFLICT',
      )
  })
})
