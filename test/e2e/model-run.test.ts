import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startScriptedModel, type ScriptedStep } from '../fixtures/scripted-model.ts'
import { secretKey, workOn } from './model-assignment.ts'

const bash = (command: string): ScriptedStep => ({ calls: [{ name: 'bash', arguments: { command } }] })
const times = (count: number, step: ScriptedStep): readonly ScriptedStep[] => Array.from({ length: count }, () => step)
const done: ScriptedStep = { text: 'All done.' }

/** For as long as it lives. */
const beating = 'while :; do echo x >> beats; sleep 0.05; done'

async function expectStill(beats: string): Promise<void> {
  const before = statSync(beats).size
  await new Promise((resolve) => setTimeout(resolve, 1000))
  expect(statSync(beats).size).toBe(before)
}

describe('a model at work', () => {
  it('does a task in several steps and writes a deliverable', async () => {
    await using provider = await startScriptedModel([
      {
        text: 'First I count.',
        calls: [{ name: 'bash', arguments: { command: 'printf "a\\nb\\nc\\n" | tee list | wc -l' } }],
      },
      {
        calls: [
          { name: 'read', arguments: { file_path: 'list' } },
          { name: 'write', arguments: { file_path: '/deliverables/report.md', content: '# Three lines\n' } },
        ],
      },
      { text: 'The report is written.', usage: { input: 300, output: 20 } },
    ])
    await using work = await workOn({
      url: provider.url,
      prompt: 'Count the lines.',
      deliverables: ['/deliverables/report.md'],
    })
    expect(work.outcome).toEqual({ status: 'completed', summary: 'The report is written.' })
    expect(readFileSync(join(work.deliverables, 'report.md'), 'utf8')).toBe('# Three lines\n')
    expect(provider.heard(1)).toContain('3\\n')
    expect(provider.requests.map(({ body }) => body.messages.map(({ role }) => role))).toEqual([
      ['system', 'user'],
      ['system', 'user', 'assistant', 'tool'],
      ['system', 'user', 'assistant', 'tool', 'assistant', 'tool', 'tool'],
    ])
    expect(work.events.map(({ type }) => type)).toEqual([
      'model_started',
      'model_step',
      'tool_called',
      'tool_answered',
      'model_step',
      'tool_called',
      'tool_answered',
      'tool_called',
      'tool_answered',
      'model_step',
      'model_usage',
    ])
    expect(work.ofType('model_usage')[0]?.data).toEqual({
      steps: 3,
      calls: 3,
      retries: 0,
      input_tokens: 500,
      output_tokens: 40,
      cached_tokens: 0,
      total_tokens: 540,
      estimated: false,
    })
    expect(
      work.shown
        .filter(({ kind }) => kind === 'text')
        .map((each) => 'text' in each && each.text)
        .join(''),
    ).toBe('First I count.\nThe report is written.\n')
  })

  it('the system prompt on record is exactly what was sent, in every turn', async () => {
    await using provider = await startScriptedModel([bash('true'), done])
    await using work = await workOn({ url: provider.url, model: { system: 'Speak like a sailor.' } })
    const sent = provider.requests.map(({ body }) => body.messages[0]?.content)
    expect(sent).toEqual([work.systemPrompt, work.systemPrompt])
    expect(work.systemPrompt).toContain('Working directory: /workspace')
    expect(work.systemPrompt).toContain('Network: none')
    expect(work.systemPrompt.endsWith('Speak like a sailor.')).toBe(true)
    expect(work.systemPrompt).not.toContain(work.workspace)
  })

  it('the transcript reads step by step, and a result cannot close its fence', async () => {
    await using provider = await startScriptedModel([
      { text: 'I look.', calls: [{ name: 'bash', arguments: { command: 'printf "\\140\\140\\140\\n## forged\\n"' } }] },
      done,
    ])
    await using work = await workOn({ url: provider.url })
    expect(
      work.transcript.startsWith('# Transcript\n\nModel: `scripted`\n\n## Prompt\n\n```text\nDo the work.\n```\n'),
    ).toBe(true)
    expect(work.transcript).toContain('## Step 1\n\nI look.\n\n### `bash`\n\n```sh\n')
    expect(work.transcript).toContain('Result:\n\n````text\n```\n## forged\nExit code: 0\n````\n')
    expect(work.transcript).toContain('## Step 2\n\nAll done.\n')
    expect(work.transcript).toContain('2 steps, 1 calls, 220 tokens')
  })

  it('a model of Anthropic is spoken to in its own protocol', async () => {
    await using provider = await startScriptedModel([
      { text: 'Writing.', calls: [{ name: 'write', arguments: { file_path: 'a.txt', content: 'x' } }] },
      { calls: [{ name: 'bash', arguments: '{"command": ' }] },
      done,
    ])
    await using work = await workOn({ url: provider.url, model: { provider: 'anthropic' } })
    expect(work.outcome.status).toBe('completed')
    expect(readFileSync(join(work.workspace, 'a.txt'), 'utf8')).toBe('x')
    expect(provider.requests.map(({ path }) => path)).toEqual(['/v1/messages', '/v1/messages', '/v1/messages'])
    expect(provider.requests[0]?.headers['x-api-key']).toBe(secretKey)
    expect(provider.requests[0]?.body).toMatchObject({ cache_control: { type: 'ephemeral' } })
    expect(provider.heard(2)).toContain('not valid JSON')
    expect(work.ofType('model_usage')[0]?.data).toMatchObject({ input_tokens: 300, output_tokens: 30 })
  })

  it('the key is in no record and in no request but its header', async () => {
    await using provider = await startScriptedModel([
      { status: 503, body: { error: { message: `no room for ${secretKey}` } } },
      {
        text: `Your key is ${secretKey}.`,
        calls: [{ name: 'bash', arguments: { command: 'env; cat /proc/*/environ' } }],
      },
      { text: `Done with ${secretKey}` },
    ])
    await using work = await workOn({ url: provider.url })
    expect(work.outcome).toEqual({ status: 'completed', summary: 'Done with [key]' })
    expect(work.ofType('model_retry')[0]?.summary).toContain('no room for [key]')
    expect(provider.requests.map(({ headers }) => headers.authorization)).toEqual(Array(3).fill(`Bearer ${secretKey}`))
    const kept = work.records.replaceAll(JSON.stringify(work.shown), '')
    expect(kept).not.toContain(secretKey)
    expect(JSON.stringify(provider.requests[1]?.body)).not.toContain(secretKey)
    // The model itself said it, so that it goes back to where it came from; nothing of ours put it there.
    expect(provider.heard(2)).not.toContain(secretKey)
  })
})

describe('calls that go wrong', () => {
  it('a malformed call is answered with what is wrong, and the model goes on', async () => {
    await using provider = await startScriptedModel([
      { calls: [{ name: 'bash', arguments: '{"command": "ls' }] },
      { calls: [{ name: 'functions.bash', arguments: { command: 'ls' } }] },
      { calls: [{ name: 'bash', arguments: { comand: 'ls' } }] },
      { calls: [{ name: 'bash', arguments: '[1]' }] },
      bash('echo mended > mended.txt'),
      done,
    ])
    await using work = await workOn({ url: provider.url })
    expect(work.outcome.status).toBe('completed')
    expect(provider.heard(1)).toContain('Cannot call bash: the arguments are not valid JSON')
    expect(provider.heard(2)).toContain('there is no such tool')
    expect(provider.heard(3)).toMatch(/Cannot call bash: .*comand/)
    expect(provider.heard(4)).toContain('Cannot call bash')
    expect(readFileSync(join(work.workspace, 'mended.txt'), 'utf8')).toBe('mended\n')
    expect(work.ofType('tool_answered').map(({ data }) => data?.['error'])).toEqual([
      'INVALID_INPUT',
      'INVALID_INPUT',
      'INVALID_INPUT',
      'INVALID_INPUT',
      null,
    ])
    const names = provider.requests.at(-1)?.body.messages.flatMap(({ tool_calls: calls }) => calls ?? [])
    expect(names?.map((call) => call.function.name)).toEqual(['bash', 'functions_bash', 'bash', 'bash', 'bash'])
  })

  it('a model that never calls properly is given up', async () => {
    await using provider = await startScriptedModel(times(4, { calls: [{ name: 'shell', arguments: {} }] }))
    await using work = await workOn({ url: provider.url, model: { maxMistakes: 3 } })
    expect(work.outcome).toMatchObject({ status: 'failed', reason: 'malformed_calls' })
    expect(provider.requests).toHaveLength(3)
  })

  it('what the policy refuses is told to the model, and the model goes on', async () => {
    await using provider = await startScriptedModel([
      { calls: [{ name: 'bash', arguments: { command: 'sleep 1', timeout_ms: 999_999_999 } }] },
      { calls: [{ name: 'write', arguments: { file_path: '/etc/passwd', content: 'x' } }] },
      bash('rm -f /usr/bin/env; exit 3'),
      done,
    ])
    await using work = await workOn({ url: provider.url, model: { maxMistakes: 1 } })
    expect(work.outcome.status).toBe('completed')
    expect(provider.heard(1)).toContain('POLICY_ESCALATION')
    expect(provider.heard(2)).toContain('OUTSIDE_MOUNTS')
    expect(provider.heard(3)).toContain('Exit code: 3')
    expect(work.ofType('tool_answered').map(({ data }) => data?.['error'])).toEqual([
      'POLICY_ESCALATION',
      'OUTSIDE_MOUNTS',
      null,
    ])
    expect(work.transcript).toContain('Refused:')
  })
})

describe('a provider that fails', () => {
  it('is asked again, after the pause that it wishes, and every repetition is in the log', async () => {
    await using provider = await startScriptedModel([
      { status: 429, headers: { 'retry-after': '1' } },
      { status: 500 },
      { text: 'I beg', then: 'drop' },
      { text: 'I only', then: 'cut' },
      { text: 'Now', then: { error: { message: 'overloaded', type: 'overloaded_error' } } },
      bash('echo once >> count.txt'),
      done,
    ])
    await using work = await workOn({ url: provider.url, model: { maxRetries: 5 } })
    expect(work.outcome).toEqual({ status: 'completed', summary: 'All done.' })
    expect(work.ofType('model_retry').map(({ data }) => data?.['status'])).toEqual([429, 500, null, null, null])
    expect(provider.requests[1]!.at - provider.requests[0]!.at).toBeGreaterThanOrEqual(990)
    expect(readFileSync(join(work.workspace, 'count.txt'), 'utf8')).toBe('once\n')
    // A broken turn is begun anew: nothing of it is sent back.
    expect(JSON.stringify(provider.requests.at(-1)?.body)).not.toContain('I beg')
    expect(work.transcript).toContain('I beg')
    expect(work.ofType('model_usage')[0]?.data).toMatchObject({ steps: 2, retries: 5 })
  })

  it('that does not recover ends the run as failed with the reason provider_error', async () => {
    await using provider = await startScriptedModel(times(9, { status: 503 }))
    await using work = await workOn({ url: provider.url, model: { maxRetries: 2 } })
    expect(work.outcome).toMatchObject({ status: 'failed', reason: 'provider_error' })
    expect(work.outcome.summary).toBe('The provider failed after 3 attempts: status 503.')
    expect(provider.requests).toHaveLength(3)
  })

  it.each([
    [
      'a refused key',
      { status: 401, body: { error: { message: 'Incorrect key' } } },
      '401: Incorrect key. Check the key',
    ],
    ['a bad request', { status: 400, body: { error: { message: 'too long' } } }, '400: too long'],
    ['a pause that is too long', { status: 429, headers: { 'retry-after': '7200' } }, 'asks to wait 7200 s'],
    [
      'a quota that is used up',
      { status: 429, body: { error: { message: 'quota', code: 'insufficient_quota' } } },
      'quota',
    ],
  ] as const)('%s is not asked again', async (_what, step, words) => {
    await using provider = await startScriptedModel([step, done])
    await using work = await workOn({ url: provider.url })
    expect(work.outcome).toMatchObject({ status: 'failed', reason: 'provider_error' })
    expect(work.outcome.summary).toContain(words)
    expect(provider.requests).toHaveLength(1)
  })

  it('a redirect of the provider is not followed', async () => {
    await using other = await startScriptedModel([done])
    for (const provider of ['openai-compatible', 'anthropic']) {
      const headers = { location: `${other.url}/chat/completions` }
      await using first = await startScriptedModel([{ status: 307, headers }])
      await using work = await workOn({ url: first.url, model: { provider } })
      expect(work.outcome).toMatchObject({ status: 'failed', reason: 'provider_error' })
      expect(first.requests).toHaveLength(1)
    }
    expect(other.requests).toHaveLength(0)
  })

  it('a silent provider counts as failed', async () => {
    await using provider = await startScriptedModel([{ text: 'Hm', then: 'hang' }, done])
    await using work = await workOn({ url: provider.url, model: { idleTimeoutMs: 3000 } })
    expect(work.outcome.status).toBe('completed')
    expect(work.ofType('model_retry')[0]?.summary).toContain('nothing came for 3000 ms')
  })

  it('nobody listening there is a failure that names the cause', async () => {
    await using work = await workOn({ url: 'http://127.0.0.1:1/v1', model: { maxRetries: 1 } })
    expect(work.outcome).toMatchObject({ status: 'failed', reason: 'provider_error' })
    expect(work.outcome.summary).toMatch(/after 2 attempts: .*(ECONNREFUSED|bad port)/)
  })
})

describe('budgets', () => {
  it('steps: the model gets no turn more than it may have', async () => {
    await using provider = await startScriptedModel(times(5, bash('echo x >> steps.txt')))
    await using work = await workOn({ url: provider.url, model: { maxSteps: 3 } })
    expect(work.outcome).toMatchObject({ status: 'failed', reason: 'budget_steps' })
    expect(provider.requests).toHaveLength(3)
    expect(readFileSync(join(work.workspace, 'steps.txt'), 'utf8')).toBe('x\nx\nx\n')
  })

  it('tokens: the turn that uses up the budget is the last', async () => {
    const step: ScriptedStep = { calls: [{ name: 'ls', arguments: { path: '.' } }], usage: { input: 900, output: 200 } }
    await using provider = await startScriptedModel([step, step, step, step])
    await using work = await workOn({ url: provider.url, model: { maxTokens: 2000 } })
    expect(work.outcome).toMatchObject({ status: 'failed', reason: 'budget_tokens' })
    expect(provider.requests).toHaveLength(2)
  })

  it('tokens: the budget holds for a provider that tells no numbers', async () => {
    const step: ScriptedStep = {
      text: 'word '.repeat(600),
      calls: [{ name: 'ls', arguments: { path: '.' } }],
      usage: null,
    }
    await using provider = await startScriptedModel([step, step, step, step])
    await using work = await workOn({ url: provider.url, model: { maxTokens: 3500 } })
    expect(work.outcome).toMatchObject({ status: 'failed', reason: 'budget_tokens' })
    expect(provider.requests).toHaveLength(2)
    expect(work.ofType('model_usage')[0]?.data).toMatchObject({ estimated: true })
  })

  it('time: a command that outlasts it is ended with everything it started', async () => {
    await using provider = await startScriptedModel([bash(`(${beating}) & sleep 60`), done])
    await using work = await workOn({ url: provider.url, model: { timeoutMs: 4000 } })
    expect(work.outcome).toMatchObject({ status: 'failed', reason: 'budget_time' })
    expect(provider.requests).toHaveLength(1)
    await expectStill(join(work.workspace, 'beats'))
  })

  it('time: it holds while the provider is silent', async () => {
    await using provider = await startScriptedModel([{ then: 'hang' }])
    await using work = await workOn({ url: provider.url, model: { timeoutMs: 400 } })
    expect(work.outcome).toMatchObject({ status: 'failed', reason: 'budget_time' })
  })

  it('an answer that is cut at the output limit is gone on with', async () => {
    await using provider = await startScriptedModel([{ text: 'Once upon', finish: 'length' }, done])
    await using work = await workOn({ url: provider.url, model: { maxOutputTokens: 5 } })
    expect(work.outcome.status).toBe('completed')
    expect(provider.requests[0]?.body).toMatchObject({ max_tokens: 5 })
    expect(provider.heard(1)).toContain('cut off')
  })
})

describe('people', () => {
  it('a cancelled run ends the command in flight with everything it started', async () => {
    await using provider = await startScriptedModel([bash(`(${beating}) & sleep 60`)])
    await using work = await workOn({
      url: provider.url,
      watch(progress, { workspace, cancel }) {
        if (progress.kind !== 'tool_started') return
        const timer = setInterval(() => {
          if (!existsSync(join(workspace, 'beats'))) return
          clearInterval(timer)
          cancel()
        }, 20)
      },
    })
    expect(work.outcome).toEqual({ status: 'cancelled', summary: 'The work was cancelled.' })
    await expectStill(join(work.workspace, 'beats'))
    expect(work.ofType('model_usage')).toHaveLength(1)
  })

  it('a run is cancelled in the middle of an answer', async () => {
    await using provider = await startScriptedModel([{ text: 'Well, ', then: 'hang' }])
    await using work = await workOn({ url: provider.url, watch: (_progress, { cancel }) => cancel() })
    expect(work.outcome.status).toBe('cancelled')
  })

  it('a question reaches the person, the answer reaches the model, and the clock stands still meanwhile', async () => {
    await using provider = await startScriptedModel([
      { calls: [{ name: 'ask_user', arguments: { question: 'Which colour?', choices: ['red', 'blue'] } }] },
      done,
    ])
    await using work = await workOn({
      url: provider.url,
      model: { timeoutMs: 5000 },
      async answer(question) {
        expect(question).toEqual({ kind: 'question', text: 'Which colour?', choices: ['red', 'blue'] })
        await new Promise((resolve) => setTimeout(resolve, 6000))
        return 'blue'
      },
    })
    expect(work.outcome.status).toBe('completed')
    expect(provider.heard(1)).toContain('The user answered: blue')
  })
})
