import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import type { Comparison, ReplayReport } from '../../../runtime/runs/replay.ts'
import { addReplayFlags } from './replay-flags.ts'
import { replayText } from './replay-text.ts'

const comparison = (given: Partial<Comparison>): Comparison => ({
  number: 1,
  action: 'run',
  about: 'true',
  result: 'identical',
  reason: null,
  differences: [],
  cut: [],
  notSupplied: [],
  overlapped: false,
  ...given,
})

const report = (given: Partial<ReplayReport> = {}): ReplayReport => ({
  ok: true,
  original: { runId: 'one', directory: '/runs/one', status: 'completed', actions: 2 },
  replay: { runId: 'two', directory: '/runs/two', status: 'completed', reason: null, summary: '' },
  actions: { identical: 2, differs: 0, notComparable: 0, notRepeated: 0 },
  artifacts: { identical: 1, differs: 0, notComparable: 0, notRepeated: 0 },
  notSupplied: [],
  remarks: [],
  comparisons: [],
  artifactComparisons: [],
  ...given,
})

describe('the report of a replay', () => {
  it('is three lines where everything came out identical', () => {
    expect(replayText(report(), 'two').split('\n')).toEqual([
      '2 of 2 actions identical.',
      '1 of 1 artifact identical.',
      'The replay is recorded in /runs/two; check it: glovebox runs verify two',
      '',
    ])
  })

  it('lays both sides of a difference one below the other, with a mark below the first byte', () => {
    const differs = comparison({
      number: 12,
      about: 'date',
      result: 'differs',
      differences: [
        {
          part: 'stdout',
          detail: 'differs at byte 17',
          place: { offset: 17, before: 'Sun Nov 15 11:52:', original: '15 UTC\\n', replayed: '36 UTC\\n' },
          cause: { kind: 'time', because: 'each holds the time at which it was made' },
        },
      ],
    })
    const text = replayText(
      report({ comparisons: [differs], actions: { identical: 49, differs: 1, notComparable: 0, notRepeated: 0 } }),
      'two',
    )
    expect(text.split('\n').slice(0, 6)).toEqual([
      '49 of 50 actions identical; 1 differs.',
      '  #12 date',
      '    stdout: differs at byte 17 (likely a time: each holds the time at which it was made)',
      '      then  Sun Nov 15 11:52:15 UTC\\n',
      '      now   Sun Nov 15 11:52:36 UTC\\n',
      '                             ^',
    ])
  })

  it('names what was cut, not supplied, not comparable, not repeated and run side by side', () => {
    const text = replayText(
      report({
        notSupplied: ['LANG'],
        remarks: ['the backend is local, and was bwrap'],
        comparisons: [
          comparison({
            cut: [{ part: 'stdout', comparedBytes: 3, bytes: 6 }],
            notSupplied: ['TOKEN'],
            overlapped: true,
          }),
          comparison({ number: 2, about: 'sleep 9', result: 'not_comparable', reason: 'it ran out of time then' }),
          comparison({ number: 3, about: 'x', result: 'not_repeated', reason: 'its end was never recorded' }),
        ],
      }),
      'two',
    )
    for (const line of [
      '  #1 true: the first 3 of 6 bytes of stdout',
      '  the sandbox: LANG',
      '  #1: TOKEN',
      '  #2 sleep 9: it ran out of time then',
      '  #3 x: its end was never recorded',
      '  the backend is local, and was bwrap',
      '  #1 ran beside other actions then, and one after another now',
    ])
      expect(text.split('\n')).toContain(line)
  })

  it("lets nothing of the guest's move the terminal", () => {
    const named = comparison({ about: 'echo \u001b[2J\r', result: 'not_repeated', reason: 'x' })
    expect(replayText(report({ comparisons: [named] }), 'two')).toMatch(/^[\n\u0020-\u007e]*$/)
  })

  it('says how far a replay came that did not come to its end', () => {
    const replay = {
      runId: 'two',
      directory: '/runs/two',
      status: 'cancelled',
      reason: 'cancelled',
      summary: 'Enough.',
    }
    const actions = { identical: 1, differs: 0, notComparable: 0, notRepeated: 0 }
    const lines = replayText(report({ ok: false, replay, actions }), 'two').split('\n')
    expect(lines).toContain('1 of 2 actions were not reached.')
    expect(lines).toContain('The replay is cancelled: Enough.')
  })

  it('shows at most fifty of a kind, and says how many there are more', () => {
    const comparisons = Array.from({ length: 60 }, (_, index) => comparison({ number: index + 1, result: 'differs' }))
    expect(replayText(report({ comparisons }), 'two')).toContain('  and 10 more; --json tells all.\n')
  })
})

describe('addReplayFlags', () => {
  it('adds its flags once, whatever the command has already', () => {
    const command = addReplayFlags(addReplayFlags(new Command('replay').option('--json', 'print JSON')))
    const flags = command.options.map(({ long }) => long)
    expect(flags).toEqual(['--json', '--sandbox', '--env', '--backend', '--as-recorded', '--debug'])
    command.parse(['--env', 'A=1', '--env', 'B=2', '--as-recorded'], { from: 'user' })
    expect(command.opts()).toEqual({ env: { A: '1', B: '2' }, asRecorded: true })
  })
})
