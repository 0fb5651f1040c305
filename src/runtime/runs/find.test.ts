import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isGloveboxError, type GloveboxError } from '../../errors/error.ts'
import { listPlaces, locateRun } from './find.ts'

let directory = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'glovebox-find-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

function place(name: string, runId?: string, root = 'runs'): string {
  const made = join(directory, root, name)
  mkdirSync(made, { recursive: true })
  writeFileSync(join(made, 'events.jsonl'), '')
  if (runId !== undefined) writeFileSync(join(made, 'run.json'), JSON.stringify({ run_id: runId }))
  return made
}

function refusal(asked: string, root?: string): GloveboxError {
  try {
    const found = locateRun(asked, { directory, root })
    throw new Error(`nothing was thrown: ${found}`)
  } catch (error) {
    if (!isGloveboxError(error)) throw error
    return error
  }
}

describe('locateRun', () => {
  it('finds a run by its directory, absolute or relative', () => {
    const made = place('demo', 'run_1', 'elsewhere')
    expect(locateRun(made, { directory })).toBe(made)
    expect(locateRun('elsewhere/demo', { directory })).toBe(made)
    expect(locateRun('.', { directory: made })).toBe(made)
  })

  it('finds a run by its id, by the name of its directory, and by the beginning of either', () => {
    const made = place('demo-001', 'run_abcdef')
    place('other', 'run_xyz')
    for (const asked of ['run_abcdef', 'demo-001', 'run_a', 'demo']) expect(locateRun(asked, { directory })).toBe(made)
  })

  it('looks in another root when it is told to, and only there', () => {
    const made = place('one', 'run_1', 'kept')
    expect(locateRun('run_1', { directory, root: 'kept' })).toBe(made)
    expect(refusal('run_1').code).toBe('NOT_FOUND')
  })

  it('takes a whole name before the beginning of a longer one', () => {
    const short = place('run_1', 'run_1')
    place('run_12', 'run_12')
    expect(locateRun('run_1', { directory })).toBe(short)
  })

  it('refuses a beginning that several share, and names them', () => {
    place('a', 'run_1a')
    place('run_1b', 'run_1b')
    const { code, message, hint } = refusal('run_1')
    expect(code).toBe('INVALID_INPUT')
    expect(message).toContain('2 runs begin so')
    expect(hint).toBe('Write more of it: run_1a (in a), run_1b.')
  })

  it('says that there is none, and which it may have been', () => {
    place('demo-001', 'run_1')
    expect(refusal('demo-002').hint).toBe('Did you mean "demo-001"?')
    expect(refusal('entirely-else').hint).toContain('glovebox runs list')
    expect(refusal('').code).toBe('NOT_FOUND')
    expect(refusal('runs/none').code).toBe('NOT_FOUND')
    expect(refusal('x', 'no-such-root').code).toBe('NOT_FOUND')
  })

  it('finds a run whose run.json is gone or garbage by the name of its directory', () => {
    const made = place('torn')
    expect(locateRun('torn', { directory })).toBe(made)
    writeFileSync(join(made, 'run.json'), '{"run_id": "../../etc"}')
    expect(listPlaces({ directory }).runs).toEqual([{ directory: made, name: 'torn', runId: null }])
  })
})

describe('listPlaces', () => {
  it('tells runs from what is none, and passes over what is just being made', () => {
    place('b', 'run_b')
    place('a', 'run_a')
    place('.glovebox-run-0123', 'run_c')
    mkdirSync(join(directory, 'runs', 'empty'))
    writeFileSync(join(directory, 'runs', 'note.txt'), '')
    const { runs, others } = listPlaces({ directory })
    expect(runs.map(({ runId }) => runId)).toEqual(['run_a', 'run_b'])
    expect(others).toEqual(['empty', 'note.txt'])
  })

  it('is empty where nobody has run anything yet', () => {
    expect(listPlaces({ directory }).runs).toEqual([])
  })

  it.skipIf(process.getuid?.() === 0)('counts a directory that may not be looked into', () => {
    const made = place('closed', 'run_closed')
    chmodSync(made, 0)
    try {
      expect(listPlaces({ directory }).runs).toEqual([{ directory: made, name: 'closed', runId: null }])
    } finally {
      chmodSync(made, 0o755)
    }
  })
})
