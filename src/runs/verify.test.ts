import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cases } from '../../test/fixtures/cases.ts'
import { codeOf, groundForEach } from './ground.test-support.ts'
import type { Run } from './run.ts'
import { checkRecord, verifyRun } from './verify.ts'
import { LogReader, type Finding } from './verify-log.ts'

const ground = groundForEach()

async function endedRun(): Promise<{ run: Run; log: Buffer; runJson: string }> {
  const run = await ground().create()
  writeFileSync(join(run.directory, 'deliverables', 'a.txt'), 'delivered')
  mkdirSync(join(run.directory, 'workspace', 'd'))
  writeFileSync(join(run.directory, 'workspace', 'd', 'b.txt'), 'worked')
  symlinkSync('b.txt', join(run.directory, 'workspace', 'd', 'link'))
  await run.transition('running')
  for (let count = 0; count < 5; count++)
    await run.append({ type: 'note', summary: `überaus ${count}`, data: { count, text: 'x'.repeat(count * 20) } })
  await run.transition('completed')
  await run.close()
  const [log, runJson] = [
    readFileSync(join(run.directory, 'events.jsonl')),
    readFileSync(join(run.directory, 'run.json'), 'utf8'),
  ]
  return { run, log, runJson }
}

function findings(log: Buffer, runJson: string, chunkBytes = log.length + 1): readonly Finding[] {
  const reader = new LogReader()
  for (let from = 0; from < log.length; from += chunkBytes) reader.push(log.subarray(from, from + chunkBytes))
  const reading = reader.end()
  return [...reading.findings, ...checkRecord(reading, runJson)]
}

const linesOf = (log: Buffer): Buffer[] => {
  const lines: Buffer[] = []
  for (let from = 0; from < log.length; from = log.indexOf(10, from) + 1)
    lines.push(log.subarray(from, log.indexOf(10, from) + 1))
  return lines
}

/** Thousands of small steps on a machine that others use too. */

describe('verification of a log', () => {
  it('finds nothing in a log that is as it was written, however it is cut into parts', async () => {
    const { log, runJson } = await endedRun()
    for (const chunkBytes of [1, 7, 64, 1000, 100_000]) expect(findings(log, runJson, chunkBytes)).toEqual([])
  })

  // Every bit of them is in test/faults/run-tamper.
  it('detects a flipped bit in each byte', async () => {
    const { log, runJson } = await endedRun()
    const flipped = Buffer.from(log)
    const unseen: number[] = []
    for (const [at, byte] of log.entries()) {
      flipped[at] = byte ^ (1 << (at % 8))
      if (findings(flipped, runJson).length === 0) unseen.push(at)
      flipped[at] = byte
    }
    expect(unseen).toEqual([])
  })

  it('detects every deleted, swapped, repeated and truncated record', async () => {
    const { log, runJson } = await endedRun()
    const lines = linesOf(log)
    const seen = (changed: readonly Buffer[]): boolean => findings(Buffer.concat(changed), runJson).length > 0
    const unseen: string[] = []
    for (const [one, line] of lines.entries()) {
      if (!seen(lines.toSpliced(one, 1))) unseen.push(`deleted ${one}`)
      if (!seen(lines.slice(0, one))) unseen.push(`truncated at ${one}`)
      for (const [other, second] of lines.entries()) {
        if (!seen(lines.toSpliced(other, 0, line))) unseen.push(`${one} inserted at ${other}`)
        if (one !== other && !seen(lines.with(one, second).with(other, line)))
          unseen.push(`swapped ${one} and ${other}`)
      }
    }
    expect(unseen).toEqual([])
  })

  it('detects a record of another run, and any bytes that are put in or taken out', async () => {
    const { log, runJson } = await endedRun()
    const other = linesOf((await endedRun()).log)
    const lines = linesOf(log)
    for (let index = 0; index < lines.length; index++) {
      expect(findings(Buffer.concat(lines.with(index, other[index] ?? Buffer.alloc(0))), runJson)).not.toEqual([])
    }
    fc.assert(
      fc.property(
        fc.nat(log.length),
        fc.uint8Array({ minLength: 1, maxLength: 40 }),
        fc.nat(40),
        (at, bytes, removed) => {
          const changed = Buffer.concat([log.subarray(0, at), bytes, log.subarray(at + removed)])
          fc.pre(!changed.equals(log))
          return findings(changed, runJson).length > 0
        },
      ),
      cases(500),
    )
  })

  it('tells a torn tail, truncation, a broken line and a wrong order apart', async () => {
    const { log, runJson } = await endedRun()
    const lines = linesOf(log)
    const kinds = (changed: Buffer): readonly string[] => findings(changed, runJson).map(({ kind }) => kind)
    expect(kinds(log.subarray(0, -5))).toEqual(['torn_tail', 'truncated'])
    expect(kinds(Buffer.concat(lines.slice(0, -1)))).toEqual(['truncated'])
    expect(kinds(Buffer.from(log.toString('latin1').replace('"count":2', '"count":3'), 'latin1'))).toEqual(['broken'])
    expect(kinds(Buffer.concat(lines.toSpliced(3, 1)))).toEqual(['order'])
    expect(kinds(Buffer.alloc(0))).toEqual(['truncated'])
  })

  it('detects a flipped bit in each byte of run.json', async () => {
    const { log, runJson } = await endedRun()
    const bytes = Buffer.from(runJson)
    for (let at = 0; at < bytes.length; at++) {
      const flipped = Buffer.from(bytes)
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8))
      expect([at, findings(log, flipped.toString('utf8')).length]).toEqual([at, 1])
    }
  })
})

describe('verification of a directory', () => {
  it('counts what it has checked, and works on a copy', async () => {
    const { run, log } = await endedRun()
    const copy = join(ground().directory, 'copy')
    cpSync(run.directory, copy, { recursive: true, verbatimSymlinks: true })
    rmSync(run.directory, { recursive: true })
    expect(await verifyRun(copy)).toEqual({
      ok: true,
      status: 'completed',
      findings: [],
      checked: {
        events: 8,
        eventBytes: log.length,
        files: 8,
        artifacts: 4,
        artifactBytes: 15,
        actions: 0,
        actionFiles: 0,
        actionBytes: 0,
      },
      headHash: run.record.state_hash,
    })
  })

  it('finds artifacts that were changed, removed, added or made a link', async () => {
    const { run } = await endedRun()
    const at = (path: string): string => join(run.directory, path)
    const subjects = async (): Promise<readonly string[]> =>
      (await verifyRun(run.directory)).findings.map(({ kind, subject }) => `${kind} ${subject}`)
    writeFileSync(at('workspace/d/b.txt'), 'worseD')
    expect(await subjects()).toEqual(['artifact workspace/d/b.txt'])
    writeFileSync(at('workspace/d/b.txt'), 'worked')
    writeFileSync(at('deliverables/new'), '')
    expect(await subjects()).toEqual(['artifact deliverables/new'])
    rmSync(at('deliverables/new'))
    rmSync(at('deliverables/a.txt'))
    expect(await subjects()).toEqual(['artifact deliverables/a.txt'])
    symlinkSync('/etc/hostname', at('deliverables/a.txt'))
    expect(await subjects()).toEqual(['artifact deliverables/a.txt'])
    rmSync(at('deliverables/a.txt'))
    writeFileSync(at('deliverables/a.txt'), 'delivered')
    rmSync(at('workspace/d'), { recursive: true })
    symlinkSync('/etc', at('workspace/d'))
    expect(await subjects()).toEqual([
      'artifact workspace/d',
      'artifact workspace/d/b.txt',
      'artifact workspace/d/link',
    ])
  })

  it('finds every file of the layout that is missing', async () => {
    const { run } = await endedRun()
    rmSync(join(run.directory, 'logs'), { recursive: true })
    rmSync(join(run.directory, 'transcript.md'))
    const { findings: found } = await verifyRun(run.directory)
    expect(found.map(({ subject }) => subject)).toEqual(['transcript.md', 'logs', 'transcript.md'])
  })

  it('is refused for what is no run', async () => {
    expect(await codeOf(() => verifyRun(ground().directory))).toBe('NOT_FOUND')
  })

  it('shares no code with the writer', () => {
    const sources = readdirSync(new URL('.', import.meta.url)).filter((name) => /^verify[a-z-]*\.ts$/.test(name))
    expect(sources).toContain('verify-actions.ts')
    for (const name of sources) {
      const text = readFileSync(new URL(name, import.meta.url), 'utf8')
      const imported = [...text.matchAll(/from '(\.[^']+)'/g)].map(([, target]) => target)
      expect(
        imported.filter((target) => !/^(?:\.\.\/(?:contract|errors|process)\/|\.\/verify)/.test(target ?? '')),
      ).toEqual([])
    }
  })
})
