// Spoils a run in every way and asks the verifier what it sees: each bit of each file of a small run, and a large log by
// chance. What is not found here could be changed without anybody knowing.
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keep, openActionLog } from '../../src/runs/action-log.ts'
import { startRecorded } from '../../src/runs/archive.ts'
import { openChangeWatch } from '../../src/runs/changes/watch.ts'
import { createRun, type Run } from '../../src/runs/run.ts'
import { checkRecord, verifyRun } from '../../src/runs/verify.ts'
import { LogReader } from '../../src/runs/verify-log.ts'
import { bitsOf } from '../fixtures/cases.ts'

let place = ''
let small = ''
let large = ''
beforeAll(async () => {
  // In memory where the host has such a place: thousands of files are written.
  place = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'glovebox-tamper-'))
  small = await writtenRun('small', { actions: 2, notes: 3 })
  large = await writtenRun('large', { actions: 40, notes: 4000 })
})
afterAll(() => rmSync(place, { recursive: true, force: true }))

interface Size {
  readonly actions: number
  readonly notes: number
}

/** As the runtime writes one: actions with their files and change sets, notes, a deliverable, an end. */
async function writtenRun(name: string, { actions, notes }: Size): Promise<string> {
  const directory = join(place, name)
  const run = await createRun({ config: { name }, prompt: 'Do it.', sandboxPath: directory })
  await run.transition('running')
  const watch = await openChangeWatch({ directory })
  await run.append(await startRecorded(directory))
  await run.recordSystemPrompt('Be brief.')
  run.say('It begins.\n')
  const log = openActionLog(directory)
  for (let number = 1; number <= actions; number += 1) {
    await run.append({ type: 'action_started', summary: 'run', data: { number } }, { durability: 'D2' })
    writeFileSync(join(directory, 'deliverables', `d${number}`), `delivered ${number}`)
    const json = (value: unknown) => keep(Buffer.from(JSON.stringify(value)))
    const files = {
      'action.json': json({ number }),
      'changes.json': json(await watch.look()),
      stdout: keep(Buffer.from(`line ${number}\n`)),
    }
    log.write(number, files)
    const hashes = Object.fromEntries(Object.entries(files).map(([file, { sha256 }]) => [file, sha256]))
    await run.append({ type: 'action_ended', summary: 'run', data: { number, hashes } }, { durability: 'D2' })
  }
  await writeNotes(run, notes)
  watch.close()
  await log.close()
  await run.transition('completed')
  await run.close()
  return directory
}

async function writeNotes(run: Run, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1)
    await run.append(
      { type: 'note', summary: `Jürgen ${number}`, data: { text: 'x'.repeat((number * 37) % 400) } },
      { durability: 'D2' },
    )
}

const logOf = (directory: string): Buffer => readFileSync(join(directory, 'events.jsonl'))
const runJsonOf = (directory: string): string => readFileSync(join(directory, 'run.json'), 'utf8')

/** The parts in which a file is read cut lines anywhere. */
function isSeen(log: Buffer, runJson: string, partBytes = 64 * 1024): boolean {
  const reader = new LogReader()
  for (let from = 0; from < log.length; from += partBytes) reader.push(log.subarray(from, from + partBytes))
  const reading = reader.end()
  return reading.findings.length + checkRecord(reading, runJson).length > 0
}

const flipped = (bytes: Buffer, bit: number): Buffer => {
  const copy = Buffer.from(bytes)
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return copy
}

function linesIn(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = []
  for (let from = 0; from < bytes.length; from = bytes.indexOf(10, from) + 1)
    lines.push(bytes.subarray(from, bytes.indexOf(10, from) + 1))
  return lines
}

/** Sealed as the writer seals, by somebody who has read how. */
function forged(after: Buffer): Buffer {
  const { hash: prev_hash, ...rest } = JSON.parse(after.toString()) as { hash: string; seq: number; prev_hash: string }
  const body = JSON.stringify({ ...rest, seq: rest.seq + 1, prev_hash }).slice(0, -1)
  return Buffer.from(`${body},"hash":"${createHash('sha256').update(body).digest('hex')}"}\n`)
}

describe('a flipped bit', () => {
  it('of the log and of run.json is guarded', () => {
    const [log, runJson] = [logOf(small), Buffer.from(runJsonOf(small))]
    expect(isSeen(log, runJson.toString())).toBe(false)
    const unseen: string[] = []
    for (const bit of bitsOf(log.length))
      if (!isSeen(flipped(log, bit), runJson.toString())) unseen.push(`events.jsonl ${bit}`)
    for (const bit of bitsOf(runJson.length))
      if (!isSeen(log, flipped(runJson, bit).toString())) unseen.push(`run.json ${bit}`)
    expect(unseen).toEqual([])
  })

  it('of a log of megabytes is guarded, in samples', () => {
    const [log, runJson] = [logOf(large), runJsonOf(large)]
    expect(log.length).toBeGreaterThan(2_000_000)
    expect(isSeen(log, runJson)).toBe(false)
    fc.assert(
      fc.property(fc.nat({ max: log.length * 8 - 1 }), (bit) => isSeen(flipped(log, bit), runJson)),
      { numRuns: 60 },
    )
  })

  it('of every other file of a run is guarded: one bit of each byte', async () => {
    const files = filesOf(small).filter((name) => name !== 'events.jsonl' && name !== 'run.json')
    expect(files).toEqual(expect.arrayContaining([...mandatory, 'archive/base.json', 'logs/actions/000001/stdout']))
    const unseen: string[] = []
    for (const name of files) {
      const path = join(small, name)
      const bytes = readFileSync(path)
      rmSync(path)
      for (let at = 0; at < bytes.length; at += 1) {
        writeFileSync(path, flipped(bytes, at * 8 + (at % 8)))
        if ((await verifyRun(small)).ok) unseen.push(`${name} ${at}`)
      }
      writeFileSync(path, bytes)
    }
    expect(unseen).toEqual([])
    expect((await verifyRun(small)).findings).toEqual([])
  })
})

const mandatory = ['session.json', 'task.yaml', 'prompt.md', 'config.yaml', 'sandbox-manifest.json', 'transcript.md']

const filesOf = (directory: string): readonly string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))

describe('every record', () => {
  it('is missed when it is deleted, and when the log ends before it', () => {
    const [lines, runJson] = [linesIn(logOf(small)), runJsonOf(small)]
    for (const index of lines.keys()) {
      expect([index, isSeen(Buffer.concat(lines.toSpliced(index, 1)), runJson)]).toEqual([index, true])
      expect([index, isSeen(Buffer.concat(lines.slice(0, index)), runJson)]).toEqual([index, true])
    }
  })

  it('is missed when the log is cut at any byte', () => {
    const [log, runJson] = [logOf(small), runJsonOf(small)]
    for (let size = 0; size < log.length; size += 1)
      expect([size, isSeen(log.subarray(0, size), runJson)]).toEqual([size, true])
  })

  it('is out of place when it is swapped with any other, or stands there a second time', () => {
    const [lines, runJson] = [linesIn(logOf(small)), runJsonOf(small)]
    const unseen: string[] = []
    for (const [one, line] of lines.entries()) {
      for (const [other, second] of lines.entries()) {
        if (one < other && !isSeen(Buffer.concat(lines.with(one, second).with(other, line)), runJson))
          unseen.push(`${one} and ${other} swapped`)
        if (!isSeen(Buffer.concat(lines.toSpliced(other, 0, line)), runJson))
          unseen.push(`${one} again before ${other}`)
      }
      if (!isSeen(Buffer.concat([...lines, line]), runJson)) unseen.push(`${one} again at the end`)
    }
    expect(unseen).toEqual([])
  })

  it('is found when it is forged and linked to the one before', () => {
    const [lines, runJson] = [linesIn(logOf(small)), runJsonOf(small)]
    for (const [index, line] of lines.entries())
      expect([index, isSeen(Buffer.concat(lines.toSpliced(index + 1, 0, forged(line))), runJson)]).toEqual([
        index,
        true,
      ])
  })

  it('of a log of megabytes is missed when it is deleted, moved, repeated or forged, in samples', () => {
    const [lines, runJson] = [linesIn(logOf(large)), runJsonOf(large)]
    const index = fc.nat({ max: lines.length - 1 })
    fc.assert(
      fc.property(fc.constantFrom('delete', 'swap', 'repeat', 'forge', 'cut'), index, index, (how, one, other) => {
        fc.pre(how !== 'swap' || one !== other)
        const line = lines[one] ?? Buffer.alloc(0)
        const spoilt = {
          delete: () => lines.toSpliced(one, 1),
          swap: () => lines.with(one, lines[other] ?? line).with(other, line),
          repeat: () => lines.toSpliced(other, 0, line),
          forge: () => lines.toSpliced(one + 1, 0, forged(line)),
          cut: () => lines.slice(0, one),
        }[how]()
        return isSeen(Buffer.concat(spoilt), runJson)
      }),
      { numRuns: 60 },
    )
  })
})

describe('every file of a run', () => {
  it('is missed when it is taken away, cut, lengthened or swapped with another', async () => {
    const unseen: string[] = []
    const names = filesOf(small)
    for (const [index, name] of names.entries()) {
      const bytes = readFileSync(join(small, name))
      const other = readFileSync(join(small, names[(index + 1) % names.length] ?? name))
      const spoilt: Readonly<Record<string, Buffer | undefined>> = {
        removed: undefined,
        lengthened: Buffer.concat([bytes, Buffer.from('\n{}')]),
        ...(bytes.length === 0 ? {} : { emptied: Buffer.alloc(0), shortened: bytes.subarray(0, -1) }),
        ...(other.equals(bytes) ? {} : { swapped: other }),
      }
      for (const [how, content] of Object.entries(spoilt)) {
        const copy = join(place, 'copy')
        cpSync(small, copy, { recursive: true })
        rmSync(join(copy, name))
        if (content !== undefined) writeFileSync(join(copy, name), content)
        const isBroken = !(await verifyRun(copy)).ok
        // The end of run.json says nothing: it is read as JSON.
        if (!isBroken && !(name === 'run.json' && how === 'shortened')) unseen.push(`${name} ${how}`)
        rmSync(copy, { recursive: true })
      }
    }
    expect(unseen).toEqual([])
  })

  it('is found when it was added to a tree or to an action', async () => {
    for (const name of ['workspace/more', 'deliverables/more', 'logs/actions/000001/more', 'logs/actions/000009']) {
      writeFileSync(join(small, name), '')
      expect([name, (await verifyRun(small)).findings.map(({ subject }) => subject)]).toEqual([name, [name]])
      rmSync(join(small, name))
    }
    expect((await verifyRun(small)).ok).toBe(true)
  })
})
