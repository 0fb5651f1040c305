import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { misfits } from '../fixtures/published-schemas.ts'
import { startScriptedModel, type ScriptedModel, type ScriptedStep } from '../fixtures/scripted-model.ts'
import { type Finished, makeProject, type Project, run, start, type Started, until } from './command-line.ts'

const example = fileURLToPath(new URL('../../examples/model-run', import.meta.url))
const key = 'sk-scripted-9876543210'

let project: Project
let env: Readonly<Record<string, string>>
beforeEach(() => {
  project = makeProject()
  const state = join(project.outside, 'state')
  mkdirSync(state, { mode: 0o700 })
  env = { GLOVEBOX_STATE_DIR: state, OPENAI_API_KEY: key, ANTHROPIC_API_KEY: '' }
})
afterEach(() => project.remove())

const settle = (model: Readonly<Record<string, unknown>>, more: Readonly<Record<string, unknown>> = {}): void =>
  writeFileSync(
    join(project.directory, 'glovebox.yaml'),
    JSON.stringify({ model: { model: 'scripted', ...model }, ...more }),
  )

const begin = (...flags: readonly string[]): Started =>
  start(['run', '--executor', 'model', '--prompt', 'Do it.', '--sandbox', 'runs/one', ...flags], {
    cwd: project.directory,
    env,
  })

const glovebox = (...argv: readonly string[]): Promise<Finished> => run(argv, { cwd: project.directory, env })

const place = (...names: readonly string[]): string => join(project.directory, 'runs/one', ...names)
const read = (...names: readonly string[]): string => readFileSync(place(...names), 'utf8')
const record = (): Record<string, unknown> => JSON.parse(read('run.json')) as Record<string, unknown>
const bash = (command: string): ScriptedStep => ({ calls: [{ name: 'bash', arguments: { command } }] })

interface Budget {
  readonly left: readonly { readonly what: string; readonly left: number | null }[]
}

/** What the model was told last before that turn. */
function lastWords({ requests }: ScriptedModel, request: number): string {
  const content = requests[request]?.body.messages.at(-1)?.content
  return typeof content === 'string' ? content : JSON.stringify(content)
}

/** Every byte under a directory, with the names. */
function everythingIn(directory: string): string {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return files.map((file) => `${file}\n${readFileSync(file, 'latin1')}`).join('\n')
}

describe('glovebox run --executor model', () => {
  it('the example delivers its report, and the record of it verifies', async () => {
    await using provider = await startScriptedModel([
      { text: 'I look at the data.', calls: [{ name: 'read', arguments: { file_path: 'sales.csv' } }] },
      bash("awk -F, 'NR>1 && $4>0 && $5>0 {s+=$4*$5} END {print s}' sales.csv"),
      { calls: [{ name: 'write', arguments: { file_path: '/deliverables/report.md', content: '# Sales\n' } }] },
      { text: 'The report is in /deliverables/report.md.' },
    ])
    cpSync(example, project.directory, { recursive: true })
    const settings = join(project.directory, 'glovebox.yaml')
    const text = readFileSync(settings, 'utf8')
    expect(text).toContain('https://api.openai.com/v1')
    writeFileSync(settings, text.replace('https://api.openai.com/v1', provider.url))
    const done = await glovebox('run', '--prompt-file', 'prompt.md', '--sandbox', './runs/one')
    expect(done).toMatchObject({ code: 0 })
    expect(done.stdout).toContain('The report is in /deliverables/report.md.')
    expect(record()).toMatchObject({ status: 'completed', executor: 'model', failure_reason: null })
    expect(read('deliverables', 'report.md')).toBe('# Sales\n')
    expect(provider.heard(2)).toContain('3')
    expect(provider.requests.map(({ body }) => body.messages[0]?.content)).toEqual(
      Array(4).fill(read('effective-system-prompt.md')),
    )
    expect(read('effective-system-prompt.md')).toContain('/deliverables/report.md')
    expect(read('transcript.md')).toContain('I look at the data.')
    expect(await glovebox('runs', 'verify', 'runs/one')).toMatchObject({ code: 0 })
  })

  it('the key lies in no file of the run, nor of the state, and is in no output', async () => {
    await using provider = await startScriptedModel([
      { status: 500, body: { error: { message: `not with ${key}` } } },
      bash('env; cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n"'),
      { status: 401, body: { error: { message: `not with ${key}` } } },
    ])
    settle({ baseUrl: provider.url, retryDelayMs: 10 })
    const done = await begin('--json-events').finished
    expect(done.code).toBe(1)
    expect(record()).toMatchObject({ status: 'failed', failure_reason: 'provider_error' })
    expect(done.stdout).toContain('not with [key]')
    const kept = everythingIn(place()) + everythingIn(env['GLOVEBOX_STATE_DIR'] ?? '')
    expect(kept).toContain('not with [key]')
    for (const text of [kept, done.stdout, done.stderr]) expect(text).not.toContain(key)
  })

  it('a model that reads its catalog finds what is left of its steps, tokens and time, as of then', async () => {
    const look = bash('cat .glovebox/now/budget.json')
    await using provider = await startScriptedModel([look, look, { text: 'Done.' }])
    settle({ baseUrl: provider.url, maxSteps: 7, maxTokens: 1000, timeoutMs: 90_000 })
    expect((await begin().finished).code).toBe(0)
    const seen = [1, 2].map((request) => JSON.parse(/\{[^]*\}/.exec(lastWords(provider, request))?.[0] ?? '') as Budget)
    for (const budget of seen) expect(misfits('catalog/budget', budget)).toEqual([])
    const [first, second] = seen.map(({ left }) => new Map(left.map((line) => [line.what, line])))
    expect(first?.get('model_steps')).toMatchObject({ unit: 'count', limit: 7, used: 1, left: 6 })
    expect(second?.get('model_steps')).toMatchObject({ used: 2, left: 5 })
    // 100 and 10 are told of each turn.
    expect(first?.get('model_tokens')).toMatchObject({ unit: 'tokens', limit: 1000, used: 110, left: 890 })
    expect(second?.get('model_tokens')).toMatchObject({ used: 220, left: 780 })
    const [before, after] = [first, second].map((lines) => lines?.get('model_time'))
    expect(before).toMatchObject({ unit: 'ms', limit: 90_000, endsAt: expect.stringMatching(/Z$/) })
    expect(Number(after?.left)).toBeLessThan(Number(before?.left))
    expect(Number(before?.left)).toBeGreaterThan(30_000)
  })

  it.each([
    ['a key', {}, 'OPENAI_API_KEY'],
    ['a key of its own variable', { apiKeyEnv: 'MY_KEY' }, 'MY_KEY'],
    ['a key for Anthropic', { provider: 'anthropic' }, 'ANTHROPIC_API_KEY'],
    ['an endpoint', { baseUrl: undefined }, 'model.baseUrl'],
  ])('without %s it says what to set, and makes nothing', async (_what, model, named) => {
    settle({ baseUrl: 'http://127.0.0.1:9/v1', ...model })
    env = { ...env, OPENAI_API_KEY: named === 'model.baseUrl' ? key : '' }
    const done = await begin().finished
    expect(done).toMatchObject({ code: 125, stdout: '' })
    expect(done.stderr).toContain('Cannot ask a model')
    expect(done.stderr).toContain(named)
    expect(existsSync(place())).toBe(false)
  })

  it('a model that does not deliver has failed, whatever it says', async () => {
    await using provider = await startScriptedModel([{ text: 'I delivered everything.' }])
    settle({ baseUrl: provider.url }, { deliverables: ['report.md'] })
    expect(await begin().finished).toMatchObject({ code: 1 })
    expect(record()).toMatchObject({ status: 'failed', failure_reason: 'deliverable_missing' })
  })

  it('a budget that is used up is the reason of the failure', async () => {
    await using provider = await startScriptedModel([bash('true'), bash('true'), bash('true')])
    settle({ baseUrl: provider.url, maxSteps: 2 })
    expect(await begin().finished).toMatchObject({ code: 1 })
    expect(record()).toMatchObject({ status: 'failed', failure_reason: 'budget_steps' })
  })

  it('Ctrl-C ends the command in flight with everything it started', async () => {
    await using provider = await startScriptedModel([
      bash('(while :; do echo x >> beats; sleep 0.05; done) & sleep 60'),
    ])
    settle({ baseUrl: provider.url })
    const { child, finished } = begin()
    await until('the command runs', () => existsSync(place('workspace', 'beats')))
    child.kill('SIGINT')
    expect(await finished).toMatchObject({ code: 130 })
    expect(record()).toMatchObject({ status: 'cancelled' })
    const beats = read('workspace', 'beats')
    await new Promise((resolve) => setTimeout(resolve, 1000))
    expect(read('workspace', 'beats')).toBe(beats)
    expect(await glovebox('runs', 'verify', 'runs/one')).toMatchObject({ code: 0 })
  })

  it('a question makes the run wait for a person, and `runs answer` lets it go on', async () => {
    await using provider: ScriptedModel = await startScriptedModel([
      { calls: [{ name: 'ask_user', arguments: { question: 'Which colour?', choices: ['red', 'blue'] } }] },
      { text: 'Thank you.' },
    ])
    settle({ baseUrl: provider.url, timeoutMs: 20_000 })
    const { finished } = begin()
    await until('the run waits', () => existsSync(place('run.json')) && record()['status'] === 'waiting_for_user')
    expect(await glovebox('runs', 'answer', 'runs/one', 'blue')).toMatchObject({ code: 0 })
    expect(await finished).toMatchObject({ code: 0 })
    expect(provider.heard(1)).toContain('The user answered: blue')
    expect(record()).toMatchObject({ status: 'completed' })
  })
})
