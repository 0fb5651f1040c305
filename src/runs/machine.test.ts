import { describe, expect, it } from 'vitest'
import { firstPrevHash, maxEventBytes, type RunEvent } from '../contract/event.ts'
import {
  idSchema,
  isTerminal,
  newRunId,
  newSessionId,
  newTaskId,
  runRecordSchema,
  runStatuses,
  transitions,
  type RunRecord,
  type RunStatus,
} from '../contract/run.ts'
import { decodeLine, encodeEvent, follows } from './chain.ts'
import { apply, fold } from './machine.ts'

const ids = { run_id: 'run_1', session_id: 'sess_1', task_id: 'task_1' }
const at = '2026-01-02T03:04:05.678Z'
const event = (seq: number, type: string, data: RunEvent['data']): RunEvent =>
  encodeEvent({ type, summary: '', data }, { seq: seq - 1, hash: firstPrevHash }, ids, at).event

const created = event(1, 'run_created', {
  layout: 1,
  profile_id: null,
  config_fingerprint: 'a'.repeat(64),
  executor: 'command',
  revision_of: null,
  forked_from: null,
  files: {},
})
const change = (seq: number, from: RunStatus, to: RunStatus, reason: string | null = null): RunEvent =>
  event(seq, isTerminal(to) ? 'run_ended' : 'state_changed', { from, to, reason })

const codeOf = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    return (error as { code: string }).code
  }
  return 'none'
}

describe('the run machine', () => {
  const pairs = runStatuses.flatMap((from) => runStatuses.map((to) => [from, to] as const))
  const inState = (status: RunStatus): RunRecord => ({ ...apply(undefined, created), status })

  it('a run changes its state only along the table of transitions; anything else is an error and changes nothing', () => {
    const outcomes = pairs.map(([from, to]) => {
      const before = inState(from)
      const kept = structuredClone(before)
      const code = codeOf(() => expect(apply(before, change(2, from, to)).status).toBe(to))
      expect(before).toEqual(kept)
      return [from, to, code]
    })
    const expected = pairs.map(([from, to]) => {
      if (isTerminal(from)) return [from, to, 'RUN_ENDED']
      return [from, to, transitions[from].includes(to) ? 'none' : 'ILLEGAL_TRANSITION']
    })
    expect(outcomes).toEqual(expected)
  })

  it('a run that has ended never changes again', () => {
    for (const status of runStatuses.filter(isTerminal)) {
      expect(codeOf(() => apply(inState(status), event(2, 'note', {})))).toBe('RUN_ENDED')
    }
  })

  it('has the states of the seed and lost, and every state can be reached', () => {
    const reached = new Set<RunStatus>(['pending'])
    for (const status of reached) for (const next of transitions[status]) reached.add(next)
    expect([...reached].toSorted()).toEqual([...runStatuses].toSorted())
    expect(runStatuses.filter(isTerminal)).toEqual(['completed', 'failed', 'cancelled', 'lost'])
  })

  it('folds the events into run.json, with null for what is not set', () => {
    const first = fold([created])
    expect(first).toMatchObject({
      status: 'pending',
      started_at: null,
      completed_at: null,
      failure_reason: null,
      profile_id: null,
    })
    expect(runRecordSchema.safeParse(first).success).toBe(true)
    const end = fold([
      created,
      change(2, 'pending', 'running'),
      event(3, 'note', {}),
      change(4, 'running', 'failed', 'oom'),
    ])
    expect(end).toMatchObject({
      status: 'failed',
      failure_reason: 'oom',
      started_at: at,
      completed_at: at,
      state_seq: 4,
    })
  })

  it('refuses events that do not begin with the creation, that create twice, or that start elsewhere', () => {
    expect(codeOf(() => fold([event(1, 'note', {})]))).toBe('ILLEGAL_TRANSITION')
    expect(codeOf(() => fold([created, created]))).toBe('ILLEGAL_TRANSITION')
    expect(codeOf(() => fold([created, change(2, 'running', 'completed')]))).toBe('ILLEGAL_TRANSITION')
    expect(codeOf(() => fold([event(1, 'run_created', { layout: 2 })]))).toBe('ILLEGAL_TRANSITION')
  })

  it('a terminal state needs a terminal event, and a terminal event a terminal state', () => {
    const running = { from: 'pending', to: 'running', reason: null }
    expect(codeOf(() => fold([created, event(2, 'run_ended', running)]))).toBe('ILLEGAL_TRANSITION')
    const failed = { from: 'pending', to: 'failed', reason: 'oom' }
    expect(codeOf(() => fold([created, event(2, 'state_changed', failed)]))).toBe('ILLEGAL_TRANSITION')
  })
})

describe('an event', () => {
  it('an event is at most 16 KiB long, so that a terminal one always fits the reserved space', () => {
    expect(maxEventBytes).toBe(16 * 1024)
    expect(codeOf(() => event(2, 'note', { text: 'x'.repeat(maxEventBytes) }))).toBe('TOO_LARGE')
  })

  it('is read back as it was written, and follows only the one before it', () => {
    const { event: written, line } = encodeEvent(
      { type: 'note', summary: 'é\n\u2028', data: { n: 1 } },
      { seq: 4, hash: 'b'.repeat(64) },
      ids,
      at,
    )
    expect(decodeLine(line.subarray(0, -1))).toEqual(written)
    expect(line.indexOf(10)).toBe(line.length - 1)
    expect(follows({ seq: 4, hash: 'b'.repeat(64) }, written)).toBe(true)
    expect(follows({ seq: 3, hash: 'b'.repeat(64) }, written)).toBe(false)
    expect(follows({ seq: 4, hash: 'c'.repeat(64) }, written)).toBe(false)
  })

  it('with a shape that the contract does not know is refused', () => {
    expect(codeOf(() => event(2, 'Not A Word', {}))).toBe('INVALID_INPUT')
    expect(
      codeOf(() => encodeEvent({ type: 'note', summary: 'x'.repeat(1001) }, { seq: 1, hash: firstPrevHash }, ids, at)),
    ).toBe('INVALID_INPUT')
  })
})

describe('ids', () => {
  it("a caller's id is letters, digits, dot, underscore and dash, at most 128, and begins with neither dot nor dash", () => {
    const good = ['a', 'A.b_c-9', '0', '_x', 'x'.repeat(128)]
    const bad = ['', '.', '..', '.x', '-x', 'a/b', 'a b', 'a\n', 'é', 'a\0', 'x'.repeat(129), '../x']
    expect(good.filter((id) => !idSchema.safeParse(id).success)).toEqual([])
    expect(bad.filter((id) => idSchema.safeParse(id).success)).toEqual([])
  })

  it('that are made here have their prefix, are valid, and differ', () => {
    for (const [prefix, make] of [
      ['sess_', newSessionId],
      ['task_', newTaskId],
      ['run_', newRunId],
    ] as const) {
      const made = Array.from({ length: 50 }, () => make())
      expect(made.every((id) => id.startsWith(prefix) && idSchema.safeParse(id).success)).toBe(true)
      expect(new Set(made).size).toBe(50)
    }
  })
})
