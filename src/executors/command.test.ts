import { describe, expect, it } from 'vitest'
import type { Ended, ExecResult, RunOptions } from '../contract/exec.ts'
import type { Assignment, Outcome, Progress } from '../contract/executor.ts'
import type { Sandbox } from '../contract/sandbox.ts'
import { createCommandExecutor } from './command.ts'

interface Scripted {
  readonly ended?: Ended
  readonly chunks?: readonly (readonly ['stdout' | 'stderr', Uint8Array])[]
}

/** What is tried here is what an executor makes of an end, not the boundary. */
async function perform({ ended = { by: 'exit', code: 0 }, chunks = [] }: Scripted): Promise<{
  readonly outcome: Outcome
  readonly transcript: string
  readonly shown: readonly Progress[]
}> {
  let transcript = ''
  const shown: Progress[] = []
  const run = async (_: unknown, options: RunOptions): Promise<ExecResult> => {
    for (const [stream, chunk] of chunks) await (stream === 'stdout' ? options.onStdout : options.onStderr)?.(chunk)
    return { ended, exitCode: ended.by === 'exit' ? ended.code : 99 } as ExecResult
  }
  const assignment = {
    sandbox: { commands: { run } } as unknown as Sandbox,
    signal: new AbortController().signal,
    say: (text: string) => void (transcript += text),
    show: (progress: Progress) => void shown.push(progress),
  } as unknown as Assignment
  const outcome = await createCommandExecutor({ argv: ['job', 'a b'] }).execute(assignment)
  return { outcome, transcript, shown }
}

describe('the command executor', () => {
  const ends: readonly (readonly [Ended, Partial<Outcome>])[] = [
    [
      { by: 'exit', code: 0 },
      { status: 'completed', exitCode: 0 },
    ],
    [
      { by: 'exit', code: 3 },
      { status: 'failed', reason: 'exit_nonzero', exitCode: 3 },
    ],
    [
      { by: 'signal', signal: 'SIGSEGV' },
      { status: 'failed', reason: 'signal' },
    ],
    [
      { by: 'timeout', afterMs: 10 },
      { status: 'failed', reason: 'timeout' },
    ],
    [{ by: 'oom' }, { status: 'failed', reason: 'oom' }],
    [{ by: 'cancel', afterMs: 10 }, { status: 'cancelled' }],
    [
      { by: 'lost', reason: 'the host went away' },
      { status: 'lost', reason: 'command_lost' },
    ],
  ]
  it('a failure of the work is an outcome, not an exception', async () => {
    for (const [ended, expected] of ends) expect((await perform({ ended })).outcome).toMatchObject(expected)
  })

  it('shows every chunk, and writes it to the transcript where nothing can pass for more than output', async () => {
    const { transcript, shown } = await perform({
      chunks: [
        ['stdout', Buffer.from('one\n# two\n')],
        ['stderr', Buffer.from('\u001b[2Jred')],
      ],
    })
    expect(shown.map(({ kind }) => kind)).toEqual(['stdout', 'stderr'])
    expect(transcript).toContain("    $ job 'a b'\n")
    expect(transcript).toContain('\n    # two\n')
    expect(transcript).not.toContain('\u001b')
    expect(transcript.trimEnd().split('\n').at(-1)).toBe('The command ended well.')
  })

  it('does not break a character that two chunks share', async () => {
    const bytes = Buffer.from('ü')
    const { transcript } = await perform({
      chunks: [
        ['stdout', bytes.subarray(0, 1)],
        ['stdout', bytes.subarray(1)],
      ],
    })
    expect(transcript).toContain('ü')
    expect(transcript).not.toContain('\uFFFD')
  })

  it('bounds the transcript, and says so', async () => {
    const { transcript } = await perform({ chunks: [['stdout', Buffer.alloc(1_000_000, 'x')]] })
    expect(transcript.length).toBeLessThan(300_000)
    expect(transcript).toContain('the record of the action holds more')
  })
})
