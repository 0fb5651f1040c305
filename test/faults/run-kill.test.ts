// A process that writes a run is killed with -9 at random moments and at named places. Afterwards every directory opens,
// and the auditor, which shares no code with the writer, finds the invariants: what was answered is there (I1), seq has
// no gap and the one end is last (I2), run.json is the fold (I3), and every artifact has the hash of its manifest (I6).
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { transitions, type RunStatus } from '../../src/contract/run.ts'
import { openRun } from '../../src/runs/open.ts'
import { createRun } from '../../src/runs/run.ts'
import { verifyRun } from '../../src/runs/verify.ts'

const program = fileURLToPath(new URL('./hosts/run-writer.mjs', import.meta.url))
const dist = fileURLToPath(new URL('../../dist', import.meta.url))

interface Answers {
  readonly signal: NodeJS.Signals | null
  readonly seqs: readonly number[]
  readonly states: readonly string[]
  readonly stderr: string
}

interface Attempt {
  readonly directory: string
  readonly verb: 'write' | 'open'
  readonly seed?: number
  readonly failpoints?: string
  /** After the program is ready. Absent: it ends by itself, or at a failpoint. */
  readonly killAfterMs?: number
}

function attempt({ directory, verb, seed = 1, failpoints = '', killAfterMs }: Attempt): Promise<Answers> {
  const child = spawn(process.execPath, [program, dist, directory, verb, String(seed), failpoints])
  let [stdout, stderr, isReady] = ['', '', false]
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    if (isReady || killAfterMs === undefined) return
    isReady = true
    setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (_code, signal) => {
      // Behind the last line break may stand half a line.
      const lines = stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => line.split(' '))
      const said = (word: string): readonly string[] =>
        lines.flatMap(([first, value]) => (first === word ? [value ?? ''] : []))
      resolve({ signal, seqs: said('seq').map(Number), states: said('state'), stderr })
    })
  })
}

const isEnd = (status: string): boolean => transitions[status as RunStatus].length === 0

/** Opens the directory as the next command would, and holds it against what the dead process was answered. */
async function audit(directory: string, answers: Pick<Answers, 'seqs' | 'states'>): Promise<RunStatus> {
  const { run } = await openRun(directory)
  await run.close()
  const report = await verifyRun(directory)
  expect(report.findings).toEqual([])
  const events = readFileSync(join(directory, 'events.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { seq: number; type: string; data: { to?: string } })
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  const known = new Set(events.map(({ seq }) => seq))
  expect(answers.seqs.filter((seq) => !known.has(seq))).toEqual([])
  expect(new Set(answers.seqs).size).toBe(answers.seqs.length)
  expect(events.flatMap(({ type }, index) => (type === 'run_ended' ? [index] : []))).toEqual([events.length - 1])
  const reached = ['pending', ...events.flatMap(({ data }) => data.to ?? [])]
  expect(reached.slice(0, answers.states.length)).toEqual(answers.states)
  expect(isEnd(run.record.status)).toBe(true)
  expect(readdirSync(directory).filter((name) => name.endsWith('.tmp'))).toEqual([])
  return run.record.status
}

describe('a run whose process is killed', () => {
  let parent = ''
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'glovebox-killed-'))
  })
  afterEach(() => rmSync(parent, { recursive: true, force: true }))

  it('at random moments opens again, and nothing that was answered is gone', async () => {
    const ends: string[] = []
    for (let seed = 1; seed <= 40; seed++) {
      const directory = join(parent, `run-${seed}`)
      const answers = await attempt({ directory, verb: 'write', seed, killAfterMs: (seed * 37) % 230 })
      expect(answers.stderr).toBe('')
      const isThere = readdirSync(parent).includes(`run-${seed}`)
      // A run of which nobody was told need not be there, and if it is, it is whole.
      expect(isThere || answers.states.length === 0).toBe(true)
      if (isThere) ends.push(await audit(directory, answers))
    }
    expect(ends.length).toBeGreaterThan(20)
    expect(ends.filter((status) => status === 'lost').length).toBeGreaterThan(5)
    // The next creation takes away what was being built; what was killed before it had a lock, when it is old enough.
    for (const name of readdirSync(parent)) if (name.startsWith('.')) utimesSync(join(parent, name), 1, 1)
    const run = await createRun({ config: {}, prompt: '', sandboxPath: join(parent, 'next') })
    await run.close()
    expect(readdirSync(parent).filter((name) => name.startsWith('.'))).toEqual([])
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
    const answers = await attempt({ directory, verb: 'write', failpoints: `${name}=kill` })
    expect([answers.signal, answers.stderr]).toEqual(['SIGKILL', ''])
    const isThere = readdirSync(parent).includes('run')
    expect(isThere ? await audit(directory, answers) : undefined).toBe(status)
  })

  it('and killed again in every step of its recovery still ends once', async () => {
    const directory = join(parent, 'run')
    const answers = await attempt({ directory, verb: 'write', failpoints: 'run.append.afterSync=kill' })
    for (const name of [
      'run.persist.beforeRename',
      'run.end.beforeManifest',
      'run.end.beforeEvent',
      'run.append.beforeWrite',
      'run.append.afterWrite',
      'run.persist.afterRename',
    ]) {
      await attempt({ directory, verb: 'open', failpoints: `${name}=kill` })
    }
    expect(await audit(directory, answers)).toBe('lost')
  })
})
