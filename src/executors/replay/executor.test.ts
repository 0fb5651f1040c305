import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openHostContext, type HostContext } from '../../../test/fixtures/host-context.ts'
import type { EventInput } from '../../contract/event.ts'
import type { Assignment, Outcome } from '../../contract/executor.ts'
import type { KeptAction, KeptBytes, KeptName, RecordedAction } from '../../contract/recorded-action.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import { fingerprint } from '../../runs/fingerprint.ts'
import { createReplayExecutor } from './executor.ts'
import type { Comparison } from './report.ts'

let host: HostContext
beforeEach(() => {
  host = openHostContext()
})
afterEach(() => host.close())

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const startedAt = '2026-03-01T10:20:30.000Z'

interface Recorded extends Partial<Omit<RecordedAction, KeptName>> {
  readonly kept?: Partial<Record<KeptName, string>>
  /** What there was in all, where less was kept. */
  readonly bytes?: Partial<Record<KeptName, number>>
  readonly overlaps?: boolean
}

function recorded({ kept = {}, bytes = {}, overlaps = false, ...given }: Recorded): KeptAction {
  const contents = new Map(Object.entries(kept).map(([name, text]) => [name, Buffer.from(text)]))
  const told = (name: KeptName): KeptBytes | null => {
    const content = contents.get(name)
    if (content === undefined) return null
    return { bytes: bytes[name] ?? content.length, kept_bytes: content.length, sha256: sha256(content) }
  }
  return {
    number: 1,
    action: 'run',
    input: {},
    env_names: [],
    started_at: startedAt,
    duration_ms: 5,
    ended: null,
    output_sha256: null,
    error: null,
    ...given,
    stdin: told('stdin'),
    content: told('content'),
    stdout: told('stdout'),
    stderr: told('stderr'),
    overlaps,
    files: {
      read: async (name) =>
        contents.get(name) ?? Promise.reject(new GloveboxError('RECORD_DAMAGED', `Cannot read ${name}`)),
    },
  }
}

const command = (text: string, stdout: string, more: Recorded = {}): KeptAction =>
  recorded({
    input: { command: text, cwd: null, timeout_ms: null },
    ended: { by: 'exit', code: 0 },
    ...more,
    kept: { stdout, stderr: '', ...more.kept },
  })

interface Replayed {
  readonly outcome: Outcome
  readonly comparisons: readonly Comparison[]
  readonly events: readonly EventInput[]
  readonly transcript: string
}

async function replay(
  actions: readonly KeptAction[],
  { env = {}, signal = new AbortController().signal }: { env?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Replayed> {
  const comparisons: Comparison[] = []
  const events: EventInput[] = []
  let transcript = ''
  const sandbox: Sandbox = {
    ...host.sandbox,
    commands: {
      run: (what, options = {}) =>
        host.context.run(typeof what === 'string' ? ['/bin/sh', '-c', what] : what, { ...options }),
    },
  }
  const assignment: Assignment = {
    prompt: '',
    sandbox,
    signal,
    say: (text) => void (transcript += text),
    note: async (event) => void events.push(event),
    recordSystemPrompt: async () => {},
    ask: () => Promise.reject(new Error('nobody is asked')),
    show: () => {},
  }
  async function* given(): AsyncGenerator<KeptAction> {
    yield* actions
  }
  const outcome = await createReplayExecutor({
    actions: given(),
    env,
    fingerprint,
    seen: new Map(),
    onCompared: (comparison) => void comparisons.push(comparison),
  }).execute(assignment)
  return { outcome, comparisons, events, transcript }
}

describe('the executor that repeats', () => {
  it('repeats commands and actions in order, and finds what came out the same', async () => {
    const answer = { path: '/workspace/a.txt', created: true, bytes: 5, sha256: sha256(Buffer.from('hello')) }
    const { outcome, comparisons } = await replay([
      recorded({
        action: 'write_text',
        input: { path: 'a.txt' },
        kept: { content: 'hello' },
        output_sha256: fingerprint(answer),
      }),
      command('cat a.txt', 'hello', { number: 2 }),
      recorded({
        number: 3,
        input: { argv: ['tr', 'a-z', 'A-Z'], cwd: '/workspace', timeout_ms: 5000 },
        ended: { by: 'exit', code: 0 },
        kept: { stdin: 'loud', stdout: 'LOUD', stderr: '' },
      }),
      recorded({ number: 4, action: 'read_text', input: { path: 'missing.txt' }, error: 'NOT_FOUND' }),
    ])
    expect(comparisons.map(({ result }) => result)).toEqual(['identical', 'identical', 'identical', 'identical'])
    expect(outcome).toEqual({ status: 'completed', summary: '4 of 4 actions identical.' })
  })

  it('names the first byte that differs, with what stands around it on both sides', async () => {
    const { comparisons, outcome, events, transcript } = await replay([command('echo value 42', 'value 41\n')])
    expect(comparisons[0]).toMatchObject({
      result: 'differs',
      differences: [
        { part: 'stdout', place: { offset: 7, before: 'value 4', original: '1\\n', replayed: '2\\n' }, cause: null },
      ],
    })
    expect(outcome).toEqual({ status: 'completed', summary: '0 of 1 action identical; 1 differs.' })
    expect(events.map(({ type, data }) => [type, data?.['number']])).toEqual([['replay_compared', 1]])
    expect(transcript).toContain('#1 echo value 42: differs; stdout: differs at byte 7')
  })

  it('tells other ends, other refusals and other answers', async () => {
    const { comparisons } = await replay([
      command('exit 3', '', { ended: { by: 'exit', code: 2 } }),
      command('true', '', { number: 2, error: 'OUTSIDE_MOUNTS', ended: null, kept: {} }),
      recorded({ number: 3, action: 'mkdir', input: { path: 'a' }, output_sha256: fingerprint('something else') }),
    ])
    expect(comparisons.map(({ differences }) => differences[0]?.detail)).toEqual([
      'exit code 2 then, exit code 3 now',
      'refused with OUTSIDE_MOUNTS then, exit code 0 now',
      'its hash is another; of the answer then only the hash was kept',
    ])
  })

  it('compares only the beginning of what was cut, and says so', async () => {
    const { comparisons } = await replay([
      command('printf abcdef', 'abc', { bytes: { stdout: 6 } }),
      command('printf abcdefg', 'abc', { number: 2, bytes: { stdout: 6 } }),
    ])
    expect(comparisons[0]).toMatchObject({
      result: 'identical',
      cut: [{ part: 'stdout', comparedBytes: 3, bytes: 6 }],
    })
    expect(comparisons[1]?.differences[0]?.detail).toBe('6 bytes then, 7 now; the first 3 are the same')
  })

  it('repeats what timed out, was cancelled or ran out of memory, and calls it not comparable', async () => {
    const { comparisons, outcome } = await replay([
      command('echo done >a.txt', '', { ended: { by: 'timeout', after_ms: 100 } }),
      command('echo more >>a.txt', '', { number: 2, ended: { by: 'oom' } }),
    ])
    expect(comparisons.map(({ result, reason }) => [result, reason])).toEqual([
      ['not_comparable', 'it ran out of time then'],
      ['not_comparable', 'it ran out of memory then'],
    ])
    expect(readFileSync(join(host.workspace, 'a.txt'), 'utf8')).toBe('done\nmore\n')
    expect(outcome.summary).toBe('0 of 2 actions identical; 2 not comparable.')
  })

  it('gives an action only variables that the caller supplies, and names the others', async () => {
    const asked = { env_names: ['GIVEN', 'SECRET'] }
    const { comparisons } = await replay([command('echo $GIVEN:$SECRET', 'yes:hidden\n', asked)], {
      env: { GIVEN: 'yes', OTHER: 'no' },
    })
    expect(comparisons[0]?.notSupplied).toEqual(['SECRET'])
    expect(comparisons[0]?.differences[0]).toMatchObject({
      place: { offset: 4, original: 'hidden\\n', replayed: '\\n' },
      cause: { kind: 'environment', because: 'not supplied: SECRET' },
    })
  })

  it('does not repeat what cannot be repeated as it was, and says why', async () => {
    const { comparisons } = await replay([
      recorded({ action: 'write_text', input: { path: 'a.txt' }, kept: { content: 'ab' }, bytes: { content: 9 } }),
      recorded({ number: 2, action: 'write_text', input: { path: 'a.txt' }, error: 'TOO_LARGE' }),
      command('echo never', '', { number: 3, ended: null, error: 'CANCELLED', kept: {} }),
    ])
    expect(comparisons.map(({ result, reason }) => [result, reason])).toEqual([
      ['not_repeated', 'only 2 of the 9 bytes of its content were kept'],
      ['not_repeated', 'its content was refused (TOO_LARGE), and so was not kept'],
      ['not_repeated', 'it was not carried out then (CANCELLED)'],
    ])
    expect(host.runs).toEqual([])
  })

  it('repeats a write that was refused for its place, though its content was not kept', async () => {
    const { comparisons } = await replay([
      recorded({ action: 'write_text', input: { path: '/readonly/a.txt' }, error: 'READ_ONLY' }),
    ])
    expect(comparisons[0]?.result).toBe('identical')
  })

  it('explains a difference by an earlier one', async () => {
    writeFileSync(join(host.workspace, 'token'), 'id=feedbeef\n')
    const { comparisons } = await replay([
      command('cat token', 'id=deadcafe\n'),
      command('grep id token', 'id=deadcafe\n', { number: 2 }),
    ])
    expect(comparisons.map(({ differences }) => differences[0]?.cause)).toEqual([
      null,
      { kind: 'earlier_difference', because: 'the same two values differ in #1' },
    ])
  })

  it('repeats run_shell through its action, text beside text', async () => {
    mkdirSync(join(host.workspace, 'sub'))
    const { comparisons } = await replay(
      [
        recorded({
          action: 'run_shell',
          input: { command: 'pwd | tail -c 4; echo "$NAME"', cwd: '/workspace/sub' },
          env_names: ['NAME'],
          ended: { by: 'exit', code: 0 },
          kept: { stdout: 'sub\nx\n', stderr: '' },
        }),
      ],
      { env: { NAME: 'x' } },
    )
    expect(comparisons[0]?.result).toBe('identical')
  })

  it('says that an action ran beside another one', async () => {
    const { comparisons } = await replay([command('true', '', { overlaps: true })])
    expect(comparisons[0]).toMatchObject({ result: 'identical', overlapped: true })
  })

  it('ends as cancelled when it is cancelled, and as failed when the record is damaged', async () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 100)
    const slow = await replay([command('exec sleep 20', ''), command('echo never', '', { number: 2 })], {
      signal: controller.signal,
    })
    expect(slow.outcome).toMatchObject({ status: 'cancelled', reason: 'cancelled' })
    expect(slow.comparisons).toEqual([])
    const damaged = recorded({ ...command('true', ''), kept: {}, stdin: null } as Recorded)
    const broken = { ...damaged, stdin: { bytes: 1, kept_bytes: 1, sha256: sha256(Buffer.from('x')) } }
    expect((await replay([broken])).outcome).toMatchObject({ status: 'failed', reason: 'record_damaged' })
  })
})
