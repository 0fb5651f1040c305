import { describe, expect, it } from 'vitest'
import { catalogDeedSchema, catalogEventSchema } from '../contract/catalog.ts'
import { openJournal, type DeedResult, type Journal } from './journal.ts'

const open = (redact = (text: string): string => text): Journal => openJournal({ redact, onChange: () => {} })

const exit = (code: number, stdout = ''): DeedResult => ({
  ended: { by: 'exit', code },
  exitCode: code,
  stdoutBytes: Buffer.from(stdout),
  stderrBytes: Buffer.alloc(0),
  stdoutTotalBytes: stdout.length,
  stderrTotalBytes: 0,
  denials: [],
})

describe('a journal', () => {
  it('tells what runs and what came of the rest, in the order of the beginnings', () => {
    const journal = open()
    const [one, two] = [journal.begin({ action: 'run', about: 'one' }), journal.begin({ action: 'run', about: 'two' })]
    two.ended(exit(3, 'said'))
    expect(journal.running.map(({ about }) => about)).toEqual(['one'])
    one.refused('NOT_PERMITTED')
    const [first, second] = journal.history()
    expect(first).toMatchObject({ number: 2, about: 'two', exitCode: 3, error: null, stdoutBytes: 4 })
    expect(second).toMatchObject({ number: 1, about: 'one', ended: null, error: 'NOT_PERMITTED' })
    expect(journal.counts).toMatchObject({ commands: 1, failed: 1, refused: 1, succeeded: 0, stdoutBytes: 4 })
    expect(Buffer.from(journal.lastOutput.stdout).toString()).toBe('said')
    expect(journal.last?.about).toBe('two')
  })

  it('counts a timeout for itself, and an action that ran nothing as done', () => {
    const journal = open()
    journal.begin({ action: 'run', about: 'x' }).ended({ ended: { by: 'timeout', afterMs: 5 }, exitCode: 124 })
    journal.begin({ action: 'write_text', about: '/workspace/a' }).ended({})
    expect(journal.counts).toMatchObject({ timedOut: 1, failed: 0, succeeded: 1, commands: 1, actions: 1 })
  })

  it('keeps the newest, and all counts', () => {
    const journal = open()
    for (let number = 1; number <= 1000; number += 1)
      journal.begin({ action: 'run', about: `${number}` }).ended(exit(0))
    expect(journal.history().map(({ number }) => number)).toEqual(Array.from({ length: 100 }, (_, i) => 901 + i))
    const seqs = journal.events().map(({ seq }) => seq)
    expect(seqs).toEqual(Array.from({ length: 200 }, (_, i) => 1801 + i))
    expect(journal.counts.commands).toBe(1000)
  })

  it('leaves out what was a secret when it happened, and tells when that was, however late somebody looks', async () => {
    let secret = 'hunter2'
    const journal = open((text) => text.replaceAll(secret, '[redacted]'))
    const deed = journal.begin({ action: 'run', about: 'say hunter2' })
    const beganBy = Date.now()
    await new Promise((resolve) => setTimeout(resolve, 20))
    deed.ended(exit(0))
    secret = 'another'
    const [began, ended] = journal.events()
    expect([began?.summary, ended?.summary]).toEqual([
      'say [redacted]',
      expect.stringMatching(/^say \[redacted\]: exit 0/),
    ])
    expect(Date.parse(began?.at ?? '')).toBeLessThanOrEqual(beganBy)
    expect(Date.parse(ended?.at ?? '')).toBeGreaterThan(beganBy)
  })

  it('keeps the end of a long output, and a short word of a long command', () => {
    const journal = open()
    const long = `${'x'.repeat(100_000)}end`
    journal.begin({ action: 'run', about: 'y'.repeat(10_000) }).ended(exit(0, long))
    expect(journal.lastOutput.stdout.length).toBe(32 * 1024)
    expect(Buffer.from(journal.lastOutput.stdout).toString().endsWith('end')).toBe(true)
    expect(journal.history()[0]?.about.length).toBe(500)
  })

  it('writes lines that keep their schemas, and nothing that must not be kept', () => {
    const journal = open((text) => text.replaceAll('hunter2', '[redacted]'))
    const denial = { backend: 'x', kind: 'file.read', subject: '/hunter2', rule: 'r', reason: '', evidence: 'observed' }
    journal.begin({ action: 'run', about: 'echo hunter2', shellId: 'sh_1' }).ended({
      ...exit(1),
      denials: [denial as never],
    })
    journal.begin({ action: 'run', about: 'b' }).refused('BUSY')
    for (const line of journal.historyLines().trimEnd().split('\n')) catalogDeedSchema.parse(JSON.parse(line))
    for (const line of journal.eventLines().trimEnd().split('\n')) catalogEventSchema.parse(JSON.parse(line))
    expect(journal.historyLines() + journal.eventLines()).not.toContain('hunter2')
    expect(journal.historyLines()).toContain('[redacted]')
  })
})
