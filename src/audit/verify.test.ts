import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  entry,
  linesIn,
  segmentNames,
  temporaryLog,
  verify,
  withFile,
  withLines,
  withoutLastHead,
  writtenLog,
  type Files,
} from './temporary-log.test-support.ts'
import { verifyAudit } from './verify.ts'
import { verdictTable } from './verify/verdicts.ts'

let large: Files
beforeAll(async () => {
  large = await writtenLog(60, 6000, 7)
})

describe('a log that nobody touched', () => {
  it('is ok, and everything in it is counted', () => {
    const report = verify(large)
    expect(report).toMatchObject({ verdict: 'ok', findings: [] })
    expect(report.checked.records).toBe(segmentNames(large).flatMap((name) => linesIn(large.get(name)!)).length)
    expect(report.checked.segments).toBe(segmentNames(large).length)
    expect(report.checked.segments).toBeGreaterThan(3)
    expect(report.checked.heads).toBe(linesIn(large.get('heads.jsonl')!).length)
    const bytes = [...segmentNames(large), 'heads.jsonl'].reduce((sum, name) => sum + large.get(name)!.length, 0)
    expect(report.checked.bytes).toBe(bytes)
    expect(report.signedThrough).toBe(report.last.seq)
  })

  it('has an unsigned tail when its newest records have no head', () => {
    const report = verify(withoutLastHead(large))
    expect(report.verdict).toBe('unsigned-tail')
    expect(report.signedThrough).toBeLessThan(report.last.seq)
    expect(verify(withFile(large, 'heads.jsonl', Buffer.alloc(0))).verdict).toBe('unsigned-tail')
  })

  it('has a torn tail when its unsigned end was cut short, came back as zeros or is garbage', () => {
    const name = segmentNames(large).at(-1)!
    const whole = large.get(name)!
    const tails = [Buffer.from('{"seq":'), Buffer.alloc(5000), Buffer.from('\0\0\n\0'), Buffer.from('garbage\nmore\n')]
    for (const tail of tails) {
      const report = verify(withFile(large, name, Buffer.concat([whole, tail])))
      expect(report).toMatchObject({ verdict: 'torn-tail', findings: [{ file: name, offset: whole.length }] })
    }
  })

  it('is torn, not broken, where zeros stand in the middle of a batch that was never answered', async () => {
    const { batch, prefix, name, files } = await unsignedBatch()
    const spoilt = [Buffer.alloc(batch[0]!.length), ...batch.slice(1)]
    expect(verify(withLines(files, name, [...prefix, ...spoilt])).verdict).toBe('torn-tail')
  })

  it('is broken, not torn, where a later record was written when the damaged one was already on disk', async () => {
    const { batch, later, prefix, name, files } = await unsignedBatch()
    const zeros = Buffer.alloc(batch[0]!.length)
    // In the second the zeros have taken the line break as well, and only the later record is left behind them.
    for (const spoilt of [
      [zeros, ...batch.slice(1), later],
      [zeros, later],
    ])
      expect(verify(withLines(files, name, [...prefix, ...spoilt])).verdict).toBe('broken')
  })
})

/** Three records that share a sync, and one that came after it; none of them signed. */
async function unsignedBatch() {
  const log = temporaryLog()
  const audit = await log.open({ headEvery: { records: 100, ms: 60_000 } })
  const first = audit.append(entry(1))
  const shared = [2, 3, 4].map((number) => audit.append(entry(number)))
  await Promise.all([first, ...shared])
  const before = log.files()
  const after = await audit.append(entry(5))
  const files = log.files()
  await audit.close()
  log.remove()
  const name = segmentNames(files)[0]!
  const lines = linesIn(files.get(name)!)
  expect(before.get(name)!.length).toBe(Buffer.concat(lines.slice(0, -1)).length)
  expect(after.durable).toBe(5)
  return { files, name, prefix: lines.slice(0, 2), batch: lines.slice(2, 5), later: lines[5]! }
}

describe('the verifier', () => {
  const sources = [
    'verify.ts',
    'verify/heads.ts',
    'verify/read-record.ts',
    'verify/source.ts',
    'verify/verdicts.ts',
    'verify/walk.ts',
  ]

  it('shares no code with the writer and needs only node:fs and node:crypto', () => {
    const imported = sources.flatMap((name) => {
      const text = readFileSync(new URL(name, import.meta.url), 'utf8')
      return [...text.matchAll(/from '([^']+)'|import\('([^']+)'\)/g)].map(([, from, lazily]) => from ?? lazily ?? '')
    })
    const ours = imported
      .filter((from) => from.startsWith('.'))
      .map((from) => from.replace(/^\.\/(?:verify\/)?/, 'verify/'))
    expect(ours.filter((from) => !sources.includes(from))).toEqual([])
    expect(new Set(imported.filter((from) => !from.startsWith('.')))).toEqual(new Set(['node:fs', 'node:crypto']))
  })

  it('gives each verdict an exit code of its own, and 0 to ok alone', () => {
    const codes: readonly number[] = Object.values(verdictTable).map(({ exit }) => exit)
    expect(new Set(codes).size).toBe(codes.length)
    expect(
      Object.entries(verdictTable)
        .filter(([, { exit }]) => exit === 0)
        .map(([name]) => name),
    ).toEqual(['ok'])
    expect(codes.filter((code) => code === 1 || code === 2)).toEqual([])
  })

  it('reads a copy of the directory, without the private key', async () => {
    const log = temporaryLog()
    try {
      const audit = await log.open()
      await audit.append(entry(1))
      await audit.close()
      expect(verifyAudit(log.directory)).toMatchObject({
        verdict: 'ok',
        checked: { records: 2, segments: 1, heads: 2 },
      })
      expect([...log.files().values()].some((bytes) => bytes.includes('PRIVATE KEY'))).toBe(false)
    } finally {
      log.remove()
    }
  })
})
