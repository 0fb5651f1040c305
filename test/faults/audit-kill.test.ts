// Kill -9 while records are appended: what was answered is there, the chain holds, and what was begun ends as unknown.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openAuditLog } from '../../src/audit/log.ts'
import { readRecords } from '../../src/audit/read.ts'
import type { AuditRecord } from '../../src/audit/record.ts'
import { verifyAudit } from '../../src/audit/verify.ts'
import type { HostPath } from '../../src/contract/mount.ts'
import { hasTracer } from './killed-at-call.ts'

const built = fileURLToPath(new URL('../../dist/audit/log.js', import.meta.url))

// Tells "number kind word" on stdout for each record that was answered; several are always under way.
const appender = `
  const { openAuditLog } = await import(process.argv[1])
  const { writeSync } = await import('node:fs')
  const [directory, keyDirectory, word] = process.argv.slice(2)
  const options = { maxSegmentBytes: 20_000, headEvery: { records: 10, ms: 20 } }
  const audit = await openAuditLog({ directory, keyDirectory, ...options })
  const tell = ({ seq }, kind, subject) => writeSync(1, seq + ' ' + kind + ' ' + subject + '\\n')
  const entry = (subject) => ({ actor: 'test', action: 'thing.made', subject })
  await Promise.all([0, 1, 2, 3].map(async (lane) => {
    for (let number = 0; ; number++) {
      const subject = [word, lane, number].join('-')
      if (lane > 1) tell(await audit.append(entry(subject)), 'done', subject)
      else {
        const intent = await audit.begin(entry(subject))
        tell(intent, 'intent', subject)
        tell(await intent.done(), 'done', subject)
      }
    }
  }))
`

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'glovebox-audit-kill-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const directory = (): HostPath => join(root, 'audit') as HostPath
const keyDirectory = (): HostPath => join(root, 'keys') as HostPath

interface Appender {
  readonly child: ChildProcess
  readonly answered: () => readonly string[]
}

function startAppender(word: string, under: readonly string[] = []): Appender {
  const script = ['--input-type=module', '-e', appender, built, directory(), keyDirectory(), word]
  const [program = '', ...argv] = [...under, process.execPath, ...script]
  const child = spawn(program, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  // A line that the kill cut short was not told.
  return { child, answered: () => text.split('\n').slice(0, -1) }
}

async function records(): Promise<readonly AuditRecord[]> {
  const all: AuditRecord[] = []
  for await (const record of readRecords(directory())) all.push(record)
  return all
}

const told = ({ seq, outcome, subject }: AuditRecord): string => `${seq} ${outcome} ${subject}`

async function killAfterSome(victim: Appender, mostMs: number, leastAnswers = 1): Promise<void> {
  while (victim.answered().length < leastAnswers) await once(victim.child.stdout!, 'data')
  await delay(Math.random() * mostMs)
  victim.child.kill('SIGKILL')
  await once(victim.child, 'close')
}

describe.skipIf(process.platform !== 'linux')('an audit log whose writer is killed', () => {
  it('holds every answered record in an unbroken chain, 30 times over', async () => {
    const answered: string[] = []
    const verdicts: string[] = []
    for (let kill = 0; kill < 30; kill += 1) {
      const victim = startAppender(`k${kill}`)
      // So that there are some hundred of them on any disk: by the clock alone a slow one has answered few.
      await killAfterSome(victim, 60, kill + 1)
      answered.push(...victim.answered())
      const report = verifyAudit(directory())
      verdicts.push(report.verdict)
      expect(['ok', 'unsigned-tail', 'torn-tail']).toContain(report.verdict)
    }
    const audit = await openAuditLog({ directory: directory(), keyDirectory: keyDirectory() })
    await audit.close()
    const all = await records()
    const present = new Set(all.map(told))
    expect(answered.filter((line) => !present.has(line))).toEqual([])
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1))
    expect(answered.length).toBeGreaterThan(300)
    // The control: the kills met a writer in the middle of its work.
    expect(verdicts).toContain('unsigned-tail')
    expectEveryIntentEnded(all)
    expect(verifyAudit(directory())).toMatchObject({ verdict: 'ok', openIntents: 0 })
  })

  // While a record, a head, a key or a segment is on its way, and while the lock is taken, given back and taken over.
  const moments = ['pwrite64', 'fdatasync', 'fsync', 'rename', 'link', 'unlink'].flatMap((call) =>
    [1, 2, 3, 6, 11].map((nth) => ({ call, nth })),
  )
  const title = 'holds every answered record when it dies in the middle of any of its writes'
  it.skipIf(!hasTracer)(hasTracer ? title : `${title} (not run: strace is not installed)`, async () => {
    const answered: string[] = []
    let killed = 0
    for (const { call, nth } of moments) {
      // Each on a new log, since the first calls are those that make it; then once more on the log it left.
      rmSync(directory(), { recursive: true, force: true })
      rmSync(keyDirectory(), { recursive: true, force: true })
      answered.length = 0
      for (const word of ['first', 'second']) {
        const inject = ['-f', '-qq', '-o', '/dev/null', '-e', `inject=${call}:signal=KILL:when=${nth}`]
        const victim = startAppender(word, ['strace', ...inject])
        const timer = setTimeout(() => victim.child.kill('SIGKILL'), 20_000)
        await once(victim.child, 'close')
        clearTimeout(timer)
        killed += victim.child.signalCode === 'SIGKILL' ? 1 : 0
        answered.push(...victim.answered())
      }
      const audit = await openAuditLog({ directory: directory(), keyDirectory: keyDirectory() })
      await audit.close()
      const present = new Set((await records()).map(told))
      expect({ call, nth, lost: answered.filter((line) => !present.has(line)) }).toEqual({ call, nth, lost: [] })
      expect({ call, nth, ...verifyAudit(directory()) }).toMatchObject({ call, nth, verdict: 'ok', openIntents: 0 })
    }
    expect(killed).toBe(moments.length * 2)
  })

  it('is gone on with by the others, who share it, and none of their records is lost', async () => {
    const survivor = startAppender('survivor')
    await once(survivor.child.stdout!, 'data')
    const answered: string[] = []
    for (let kill = 0; kill < 8; kill += 1) {
      const victim = startAppender(`v${kill}`)
      await killAfterSome(victim, 40)
      answered.push(...victim.answered())
    }
    const before = survivor.answered().length
    await expect.poll(() => survivor.answered().length, { timeout: 30_000 }).toBeGreaterThan(before)
    survivor.child.kill('SIGKILL')
    await once(survivor.child, 'close')
    answered.push(...survivor.answered())
    await (await openAuditLog({ directory: directory(), keyDirectory: keyDirectory() })).close()
    const all = await records()
    const present = new Set(all.map(told))
    expect(answered.filter((line) => !present.has(line))).toEqual([])
    expectEveryIntentEnded(all)
    expect(verifyAudit(directory())).toMatchObject({ verdict: 'ok', openIntents: 0 })
  })
})

function expectEveryIntentEnded(all: readonly AuditRecord[]): void {
  const begun = all.filter(({ outcome }) => outcome === 'intent').map(({ seq }) => seq)
  const ended = all.flatMap(({ intent }) => (intent === null ? [] : [intent]))
  expect(ended.toSorted((a, b) => a - b)).toEqual(begun)
  expect(all.some(({ outcome }) => outcome === 'unknown')).toBe(true)
}
