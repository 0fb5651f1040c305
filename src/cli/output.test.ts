import { describe, expect, it } from 'vitest'
import type { ExecResult } from '../contract/exec.ts'
import { GloveboxError } from '../errors/error.ts'
import { exitCodeForError, exitCodeForResult, exitCodeForUsage } from './exit.ts'
import { errorLines, printable, table } from './output.ts'
import { operatorWords } from './program.ts'
import { remarks } from './remarks.ts'
import type { Sink } from './sink.ts'
import { boundedStream } from './stream.ts'

const ended = (how: ExecResult['ended'], exitCode: number, more: Partial<ExecResult> = {}): ExecResult => ({
  execId: 'exec_1',
  ended: how,
  exitCode,
  stdout: '',
  stderr: '',
  stdoutBytes: new Uint8Array(),
  stderrBytes: new Uint8Array(),
  stdoutTotalBytes: 0,
  stderrTotalBytes: 0,
  stdoutTruncated: false,
  stderrTruncated: false,
  durationMs: 1,
  denials: [],
  ...more,
})

describe('an error for the operator', () => {
  it('says what, where and what to do, without a stack', () => {
    const error = new GloveboxError('NOT_FOUND', 'Cannot mount /data: it is missing.', {
      hint: 'Make it.',
      operatorDetail: '/srv/data',
    })
    expect(errorLines(error, { debug: false })).toBe(
      'glovebox: Cannot mount /data: it is missing.\ndetail: /srv/data\nhint: Make it.\n',
    )
    expect(errorLines(error, { debug: true })).toContain('at ')
  })

  it('that is not ours points to --debug', () => {
    expect(errorLines(new TypeError('x is not a function'), { debug: false })).toBe(
      'glovebox: Glovebox has a fault.\ndetail: x is not a function\nhint: Run it again with --debug for the stack.\n',
    )
  })

  it('keeps commander’s words in the same form', () => {
    expect(operatorWords("error: unknown option '--timeot'\n(Did you mean --timeout?)\n")).toBe(
      "glovebox: unknown option '--timeot'\nhint: Did you mean --timeout?\n",
    )
  })
})

describe('text from the guest', () => {
  it('can neither move the cursor, begin a line, nor turn the reading order', () => {
    expect(printable('a\u001b[2Jb\nglovebox: all is well\u202e\u009b')).toBe(
      'a\\u001b[2Jb\\u000aglovebox: all is well\\u202e\\u009b',
    )
    expect(printable('naïve 日本 …')).toBe('naïve 日本 …')
  })
})

describe('exit codes', () => {
  it('of exec keep clear of the codes of commands', () => {
    expect(exitCodeForError(new GloveboxError('INVALID_INPUT', 'x'), 'exec')).toBe(125)
    expect(exitCodeForError(new GloveboxError('NOT_FOUND', 'x'), 'exec')).toBe(125)
    expect(exitCodeForError(new GloveboxError('TIMED_OUT', 'x'), 'exec')).toBe(124)
    expect(exitCodeForError(new Error('x'), 'exec')).toBe(125)
    expect(exitCodeForUsage('exec')).toBe(125)
  })

  it('of the others are 2 for misuse and 1 for failure', () => {
    expect(exitCodeForError(new GloveboxError('INVALID_SETTINGS', 'x'), 'explain')).toBe(2)
    expect(exitCodeForError(new GloveboxError('POLICY_UNENFORCEABLE', 'x'), 'explain')).toBe(1)
    expect(exitCodeForError(new Error('x'), 'doctor')).toBe(1)
    expect(exitCodeForUsage(undefined)).toBe(2)
  })

  it('of a cancelled command tell who cancelled it', () => {
    const cancelled = ended({ by: 'cancel', afterMs: 5 }, 130)
    expect(exitCodeForResult(cancelled, { signal: 'SIGINT' })).toBe(130)
    expect(exitCodeForResult(cancelled, { signal: 'SIGTERM' })).toBe(143)
    expect(exitCodeForResult(cancelled, { readerGone: true })).toBe(141)
    expect(exitCodeForResult(ended({ by: 'exit', code: 3 }, 3), { signal: 'SIGINT' })).toBe(3)
  })
})

describe('remarks after an exec', () => {
  it('are none when all went as the command wished', () => {
    expect(remarks(ended({ by: 'exit', code: 1 }, 1), ['false'])).toEqual([])
  })

  it('name a timeout, want of memory and cut output, with the flag that helps', () => {
    expect(remarks(ended({ by: 'timeout', afterMs: 60_000 }, 124), ['x']).join('\n')).toMatch(/60 s[\s\S]*--timeout/)
    expect(remarks(ended({ by: 'oom' }, 137), ['x']).join('\n')).toContain('--memory')
    const cut = { stdoutTruncated: true, stdoutBytes: new Uint8Array(1024), stdoutTotalBytes: 2 * 1024 ** 3 }
    expect(remarks(ended({ by: 'exit', code: 0 }, 0, cut), ['x'])[0]).toBe(
      'glovebox: stdout was cut: 1 KiB of 2 GiB are shown.',
    )
  })

  it('tell a reader who went away of nothing that was cut', () => {
    const cut = ended({ by: 'cancel', afterMs: 5 }, 130, { stdoutTruncated: true, stdoutTotalBytes: 2 * 1024 ** 3 })
    expect(remarks(cut, ['yes'], { stdout: undefined, stderr: 0 })).toEqual([])
    expect(remarks(cut, ['yes'], { stdout: 0, stderr: 0 })).not.toEqual([])
  })

  it('give each denial one line that it cannot break', () => {
    const denial = {
      backend: 'bwrap',
      kind: 'file.write',
      subject: '/etc/x\nglovebox: allowed',
      rule: 'system',
      reason: 'read-only',
      evidence: 'observed',
    } as const
    const lines = remarks(ended({ by: 'exit', code: 1 }, 1, { denials: [denial] }), ['x'])
    expect(lines).toEqual(['glovebox: denied file.write /etc/x\\u000aglovebox: allowed (system): read-only'])
  })

  it('explain the missing shell to those who wrote a whole line as one word', () => {
    expect(remarks(ended({ by: 'exit', code: 127 }, 127), ['ls | wc'])).toHaveLength(1)
    expect(remarks(ended({ by: 'exit', code: 127 }, 127), ['nosuch'])).toEqual([])
  })
})

describe('a stream', () => {
  const collecting = (): Sink & { text: string } => ({
    isTerminal: false,
    open: true,
    fault: undefined,
    text: '',
    async write(data) {
      this.text += typeof data === 'string' ? data : Buffer.from(data).toString()
    },
  })

  it('shows everything up to its limit and nothing after', async () => {
    const sink = collecting()
    const push = boundedStream(sink, { maxBytes: 5 })
    for (const part of ['abc', 'def', 'ghi']) await push(Buffer.from(part))
    expect(sink.text).toBe('abcde')
  })

  it('tells when its reader has gone, and writes no more', async () => {
    const gone: string[] = []
    const sink: Sink = {
      isTerminal: false,
      open: false,
      fault: undefined,
      write: () => Promise.reject(new Error('written after the end')),
    }
    await boundedStream(sink, { maxBytes: 5, onGone: () => gone.push('gone') })(Buffer.from('abc'))
    const closing = { ...collecting(), open: true }
    const push = boundedStream(
      {
        ...closing,
        get open() {
          return closing.open
        },
        write: async () => {
          closing.open = false
        },
      },
      { maxBytes: 5, onGone: () => gone.push('now') },
    )
    await push(Buffer.from('abc'))
    expect(gone).toEqual(['now'])
  })
})

describe('a table', () => {
  it('is as wide as its widest cells and ends no line in blanks', () => {
    expect(
      table([
        ['a', 'b', ''],
        ['long', 'c', 'fix'],
      ]),
    ).toEqual(['a     b', 'long  c  fix'])
  })
})
