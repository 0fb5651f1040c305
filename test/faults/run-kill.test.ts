// A process that writes a run is killed with -9 at random moments and at named places. Afterwards every directory opens,
// and the auditor finds the invariants: what was answered is there (I1), seq has no gap and the one end is last (I2),
// run.json is the fold (I3), every artifact has the hash of its manifest (I6), and the audit chain verifies (I7).
import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createRun } from '../../src/runs/run.ts'
import { starters } from './ground.ts'
import { killCliRuns } from './killed-cli-runs.ts'
import { attempt, auditRun, auditTheLog } from './killed-run.ts'
import { killRuns } from './killed-runs.ts'

describe('a run whose process is killed', () => {
  let parent = ''
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'glovebox-killed-'))
  })
  afterEach(() => rmSync(parent, { recursive: true, force: true }))

  it('at random moments and at named places opens again, and nothing that was answered is gone', async () => {
    const report = await killRuns({ count: 30, seed: 1 })
    expect(report.faults).toEqual([])
    // The kills met writers in the middle of their work.
    expect(report.killed).toBeGreaterThan(18)
    expect(report.ends['lost'] ?? 0).toBeGreaterThan(3)
    expect(report.answeredEvents).toBeGreaterThan(150)
    expect(report.answeredAudits).toBeGreaterThan(35)
  })

  it('leaves nothing half built: the next creation takes away what a killed one was building', async () => {
    const [directory, audit] = [join(parent, 'run'), parent]
    await attempt({ directory, audit, verb: 'write', failpoints: 'run.create.beforePublish=kill' })
    const stages = (): readonly string[] => readdirSync(parent).filter((name) => name.startsWith('.'))
    expect(stages().length).toBe(1)
    // What was killed before it had a lock goes when it is old enough.
    for (const name of stages()) utimesSync(join(parent, name), 1, 1)
    const run = await createRun({ config: {}, prompt: '', sandboxPath: join(parent, 'next') })
    await run.close()
    expect(stages()).toEqual([])
  })

  it.each([
    ['run.create.beforePublish', undefined],
    ['run.create.afterPublish', 'failed'],
    ['run.append.beforeWrite', 'failed'],
    ['run.append.afterWrite', 'lost'],
    ['run.append.afterSync', 'lost'],
    ['run.persist.beforeRename', 'lost'],
    ['run.persist.afterRename', 'lost'],
    ['run.end.beforeManifest', 'lost'],
    ['run.end.beforeEvent', 'lost'],
    ['run.end.afterEvent', 'completed'],
  ] as const)('at %s ends as %s', async (name, status) => {
    const directory = join(parent, 'run')
    const answers = await attempt({ directory, audit: parent, verb: 'write', failpoints: `${name}=kill` })
    expect([answers.signal, answers.stderr]).toEqual(['SIGKILL', ''])
    expect(await auditRun(directory, answers)).toEqual({ status, faults: [] })
    expect(await auditTheLog(parent, answers.audited)).toEqual([])
  })

  it('is found to have lost something where it has: the control', async () => {
    const directory = join(parent, 'run')
    const answers = await attempt({
      directory,
      audit: parent,
      verb: 'write',
      failpoints: 'run.append.afterSync=kill:9',
    })
    const { faults } = await auditRun(directory, {
      events: [...answers.events, `999 ${'0'.repeat(64)}`],
      states: [...answers.states, 'completed'],
    })
    expect(faults).toEqual([
      '1 answered events are gone',
      expect.stringMatching(/^it was answered as .*, completed and went .*, lost$/),
    ])
    expect(await auditTheLog(parent, [...answers.audited, 999])).toEqual(['1 answered audit records are gone'])
  })

  it('and killed again in every step of its recovery still ends once', async () => {
    const [directory, audit] = [join(parent, 'run'), parent]
    const answers = await attempt({ directory, audit, verb: 'write', failpoints: 'run.append.afterSync=kill' })
    for (const name of [
      'run.persist.beforeRename',
      'run.end.beforeManifest',
      'run.end.beforeEvent',
      'run.append.beforeWrite',
      'run.append.afterWrite',
      'run.persist.afterRename',
    ]) {
      await attempt({ directory, audit, verb: 'open', failpoints: `${name}=kill` })
    }
    expect(await auditRun(directory, answers)).toEqual({ status: 'lost', faults: [] })
  })
})

describe.each(starters)('`glovebox run` that is killed, started by %s,', (starter) => {
  it('leaves a run that opens, with everything that its events told, and nothing alive or lying about', async () => {
    const report = await killCliRuns({ starter, count: 7, seed: 5 })
    expect(report.faults).toEqual([])
    expect(report.killed).toBeGreaterThan(3)
    expect(report.answeredEvents).toBeGreaterThan(4)
  })
})
