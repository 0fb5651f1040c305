import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { actionDirectoryName, type ChangeSet } from '../contract/recorded-action.ts'
import { groundForEach } from './ground.test-support.ts'
import type { Run } from './run.ts'
import { verifyRun } from './verify.ts'

const ground = groundForEach()
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const blob = 'what it wrote'

const changes: ChangeSet = {
  by: 'walk',
  complete: true,
  stopped: [],
  changes: [
    {
      path: 'workspace/a.txt',
      path_base64: null,
      change: 'created',
      kind: 'file',
      before_sha256: null,
      after_sha256: sha256(blob),
      size: blob.length,
      mode: 0o644,
      target: null,
      kept: true,
    },
  ],
}

const filesOf = (number: number): Readonly<Record<string, string>> => ({
  'action.json': JSON.stringify({ number }),
  stdout: `out ${number}`,
  stderr: '',
  'changes.json': JSON.stringify(number === 1 ? changes : { ...changes, changes: [] }),
})

async function act(run: Run, number: number): Promise<void> {
  const place = join(run.directory, 'logs', 'actions', actionDirectoryName(number))
  await run.append({ type: 'action_started', summary: 'It began.', data: { number } })
  mkdirSync(place, { recursive: true })
  const files = filesOf(number)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text)
  const hashes = Object.fromEntries(Object.entries(files).map(([name, text]) => [name, sha256(text)]))
  await run.append({ type: 'action_ended', summary: 'It ended.', data: { number, hashes } })
}

async function runWithActions(): Promise<Run> {
  const run = await ground().create()
  await run.transition('running')
  mkdirSync(join(run.directory, 'archive', 'blobs'))
  writeFileSync(join(run.directory, 'archive', 'blobs', sha256(blob)), blob)
  for (const number of [1, 2, 3]) await act(run, number)
  await run.transition('completed')
  await run.close()
  return run
}

const subjects = async (directory: string): Promise<readonly string[]> =>
  (await verifyRun(directory)).findings.map(({ kind, subject, detail }) => `${kind} ${subject}: ${detail}`)

describe('verification of actions', () => {
  it('counts actions, their files, and the contents that were kept', async () => {
    const { ok, checked } = await verifyRun((await runWithActions()).directory)
    const bytes = [1, 2, 3]
      .flatMap((number) => Object.values(filesOf(number)))
      .reduce((sum, text) => sum + text.length, 0)
    expect({ ok, ...checked }).toMatchObject({
      ok: true,
      actions: 3,
      actionFiles: 13,
      actionBytes: bytes + blob.length,
    })
  })

  it('finds a file of an action that is missing, changed, added or made a link', async () => {
    const { directory } = await runWithActions()
    const spoilt: readonly [string, (at: string) => void, string][] = [
      ['stdout', (at) => rmSync(at), 'it is missing, or no file'],
      ['stdout', (at) => writeFileSync(at, 'out 9'), 'it is not what it was when it was recorded'],
      ['stderr', (at) => writeFileSync(at, 'x'), 'it is not what it was when it was recorded'],
      ['more', (at) => writeFileSync(at, ''), 'it was added'],
      ['stdout', (at) => (renameSync(at, `${at}.kept`), symlinkSync('stdout.kept', at)), 'it is missing, or no file'],
    ]
    for (const [name, spoil, detail] of spoilt) {
      const copy = join(ground().directory, 'copy')
      cpSync(directory, copy, { recursive: true })
      spoil(join(copy, 'logs/actions/000002', name))
      expect((await subjects(copy))[0]).toBe(`action logs/actions/000002/${name}: ${detail}`)
      rmSync(copy, { recursive: true })
    }
  })

  it('detects every single-bit flip in the files of actions and in kept contents', async () => {
    const { directory } = await runWithActions()
    const places = [
      ...Object.keys(filesOf(1)).map((name) => `logs/actions/000001/${name}`),
      `archive/blobs/${sha256(blob)}`,
    ]
    const unseen: string[] = []
    for (const place of places) {
      const path = join(directory, place)
      const bytes = readFileSync(path)
      await fc.assert(
        fc.asyncProperty(fc.nat({ max: Math.max(0, bytes.length * 8 - 1) }), async (bit) => {
          const flipped = bytes.length === 0 ? Buffer.from('\0') : Buffer.from(bytes)
          if (bytes.length > 0) flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
          writeFileSync(path, flipped)
          if ((await subjects(directory)).length === 0) unseen.push(`${place} ${bit}`)
        }),
        { numRuns: 25 },
      )
      writeFileSync(path, bytes)
    }
    expect(unseen).toEqual([])
    expect(await subjects(directory)).toEqual([])
  })

  it('finds an action that is missing, that nobody speaks of, or whose kept content is gone', async () => {
    const { directory } = await runWithActions()
    const actions = join(directory, 'logs', 'actions')
    renameSync(join(actions, '000003'), join(actions, '000004'))
    rmSync(join(directory, 'archive', 'blobs', sha256(blob)))
    expect(await subjects(directory)).toEqual([
      'action logs/actions/000003: it is missing',
      'action logs/actions/000004: no event speaks of it',
      `action archive/blobs/${sha256(blob)}: it is missing`,
    ])
  })

  it('does not follow a link in the place of the directory of actions', async () => {
    const { directory } = await runWithActions()
    renameSync(join(directory, 'logs', 'actions'), join(directory, 'logs', 'elsewhere'))
    symlinkSync('elsewhere', join(directory, 'logs', 'actions'))
    expect((await subjects(directory)).length).toBe(3)
  })

  it('takes it as it is when a crash left an action without its end', async () => {
    const run = await ground().create()
    await run.transition('running')
    await act(run, 2)
    await run.append({ type: 'action_started', summary: 'It began.', data: { number: 3 } })
    mkdirSync(join(run.directory, 'logs', 'actions', '000003'))
    writeFileSync(join(run.directory, 'logs', 'actions', '000003', 'stdout'), 'half')
    expect(await subjects(run.directory)).toEqual([])
    // The control: what never began is told.
    mkdirSync(join(run.directory, 'logs', 'actions', '000004'))
    expect(await subjects(run.directory)).toEqual(['action logs/actions/000004: no event speaks of it'])
  })
})
