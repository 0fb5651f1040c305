import { describe, expect, it } from 'vitest'
import type { RunRecord, RunStatus } from '../../contract/run.ts'
import { checkTransition } from '../../runs/machine.ts'
import { openPhases } from './phases.ts'

/** The states of a run, without its files. */
function machine() {
  const seen: RunStatus[] = []
  let status: RunStatus = 'running'
  return {
    seen,
    get record() {
      return { status } as RunRecord
    },
    async transition(to: RunStatus) {
      await Promise.resolve()
      checkTransition(status, to)
      status = to
      seen.push(to)
      return { status } as RunRecord
    },
  }
}

describe('the phases of a run', () => {
  it('waits for a person before it waits for a tool', async () => {
    const run = machine()
    const phases = openPhases(run)
    const tool = await phases.enter('tool')
    const user = await phases.enter('user')
    await user()
    await tool()
    expect(run.seen).toEqual(['waiting_for_tool', 'waiting_for_user', 'waiting_for_tool', 'running'])
  })

  it('changes its state once for wishes that overlap', async () => {
    const run = machine()
    const phases = openPhases(run)
    const leaves = await Promise.all([phases.enter('tool'), phases.enter('tool')])
    await Promise.all(leaves.map((leave) => leave()))
    expect(run.seen).toEqual(['waiting_for_tool', 'running'])
  })

  it('can be left twice, and settles as running whatever is still waited for', async () => {
    const run = machine()
    const phases = openPhases(run)
    const leave = await phases.enter('user')
    await phases.enter('tool')
    await leave()
    await leave()
    await phases.settle()
    expect(run.record.status).toBe('running')
  })
})
