import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HostPath } from '../../src/contract/mount.ts'
import { openAudit } from '../../src/runtime/audit.ts'
import { type Finished, makeProject, type Project, run, start, until } from './command-line.ts'

let project: Project
let home: HostPath
beforeEach(() => {
  project = makeProject()
  home = join(project.outside, 'state') as HostPath
  mkdirSync(home, { mode: 0o700 })
})
afterEach(() => project.remove())

const audit = (...argv: readonly string[]): Promise<Finished> =>
  run(['audit', ...argv], { cwd: project.directory, env: { GLOVEBOX_STATE_DIR: home } })

const entry = (subject: string) => ({ actor: 'operator', action: 'thing.made', subject })

async function record(...subjects: readonly string[]): Promise<void> {
  await using log = await openAudit(home)
  for (const subject of subjects) await log.perform(entry(subject), async () => undefined)
}

describe('glovebox audit', () => {
  it('says that there is no log, and how to name one', async () => {
    const done = await audit('verify')
    expect(done).toMatchObject({ code: 1, stdout: '' })
    expect(done.stderr).toContain('Cannot read the audit log: there is none')
    expect(done.stderr).toContain('hint: ')
  })

  it('verifies the own log and a copy of it, and counts what it checked', async () => {
    await record('one', 'two')
    const own = await audit('verify')
    expect(own).toMatchObject({ code: 0, stderr: '' })
    expect(own.stdout).toMatch(/^verdict\s+ok$/m)
    // One with the first record, one at the end; and one for every second that it took.
    const heads = readFileSync(join(home, 'audit', 'heads.jsonl'), 'utf8')
      .trimEnd()
      .split('\n').length
    expect(heads).toBeGreaterThanOrEqual(2)
    expect(own.stdout).toMatch(new RegExp(`^checked\\s+5 records in 1 segments, ${heads} heads, \\d+ bytes$`, 'm'))
    cpSync(join(home, 'audit'), join(project.directory, 'copy'), { recursive: true })
    rmSync(home, { recursive: true })
    const copy = await audit('verify', 'copy', '--json')
    expect(copy.code).toBe(0)
    expect(JSON.parse(copy.stdout)).toMatchObject({ verdict: 'ok', exit: 0, checked: { records: 5 }, openIntents: 0 })
  })

  it('has an exit code for each verdict, and tells where', async () => {
    await record('one', 'two')
    const segment = join(home, 'audit', 'segment-000001.jsonl')
    const heads = join(home, 'audit', 'heads.jsonl')
    const [whole, signed] = [readFileSync(segment, 'utf8'), readFileSync(heads, 'utf8')]
    const lines = whole.trimEnd().split('\n')
    const spoilt: readonly (readonly [number, string, string])[] = [
      [0, whole, signed],
      [10, whole, `${signed.split('\n')[0]}\n`],
      [11, `${whole}{"seq":`, signed],
      [12, `${lines.slice(0, -1).join('\n')}\n`, signed],
      [13, whole, signed.replace(/[0-9a-f]"}\n$/, (end) => (end.startsWith('0') ? '1"}\n' : '0"}\n'))],
      [14, `${whole}${lines.at(-1)}\n`, signed],
      [15, whole.replace('"two"', '"2wo"'), signed],
    ]
    const codes: (number | null)[] = []
    for (const [, records, signatures] of spoilt) {
      writeFileSync(segment, records)
      writeFileSync(heads, signatures)
      codes.push((await audit('verify')).code)
    }
    expect(codes).toEqual(spoilt.map(([code]) => code))
    const { stdout } = await audit('verify')
    const offset = lines.slice(0, 3).join('\n').length + 1
    expect(stdout).toContain(`broken: a record was changed`)
    expect(stdout).toContain(`(segment-000001.jsonl, line 4, byte ${offset}, record 4)`)
  })

  it('prints a head to keep, and finds by it that the log was set back', async () => {
    await record('one')
    cpSync(join(home, 'audit'), join(project.directory, 'earlier'), { recursive: true })
    await record('two')
    const head = (await audit('head')).stdout.trim()
    expect(head).toMatch(/^\d+:[0-9a-f]{64}$/)
    expect(await audit('verify', '--expect', head)).toMatchObject({ code: 0 })
    expect(await audit('verify', 'earlier')).toMatchObject({ code: 0 })
    expect(await audit('verify', 'earlier', '--expect', head)).toMatchObject({ code: 12 })
    expect(await audit('verify', '--expect', 'nonsense')).toMatchObject({ code: 2 })
    expect(await audit('verify', '--key', join(home, 'audit', 'public-key.pem'))).toMatchObject({ code: 0 })
    expect(await audit('verify', '--key', 'missing.pem')).toMatchObject({ code: 1 })
  })

  it('shows records as lines or JSON, the newest, and those to come', async () => {
    await record('one', 'two\u001b[2J')
    const shown = await audit('show')
    expect(shown.stdout.split('\n')).toHaveLength(6)
    expect(shown.stdout).toContain('done of 2 operator thing.made one')
    expect(shown.stdout).not.toContain('\u001b')
    const last = await audit('show', '--last', '2', '--json')
    const records = last.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { seq: number })
    expect(records.map(({ seq }) => seq)).toEqual([4, 5])
    const following = start(['audit', 'show', '--follow', '--last', '1'], {
      cwd: project.directory,
      env: { GLOVEBOX_STATE_DIR: home },
    })
    let text = ''
    following.child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()))
    await until('the last record is shown', () => text.includes('done of 4'))
    await record('three')
    await until('the new record is shown', () => text.includes('thing.made three'))
    following.child.kill('SIGINT')
    expect(await following.finished).toMatchObject({ code: 0 })
  })
})
