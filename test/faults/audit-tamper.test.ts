// Spoils logs in every way and asks the verifier what it sees.
import { cpSync } from 'node:fs'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { checkEntry } from '../../src/audit/entry.ts'
import { beforeFirst, seal } from '../../src/audit/record.ts'
import {
  entry,
  linesIn,
  memorySource,
  segmentNames,
  temporaryLog,
  verify,
  withFile,
  withLines,
  withoutLastHead,
  writtenLog,
  type Files,
} from '../../src/audit/temporary-log.test-support.ts'
import { verifySource } from '../../src/audit/verify.ts'
import { bitsOf, dearCases } from '../fixtures/cases.ts'

let small: Files
let large: Files
beforeAll(async () => {
  small = await writtenLog(2, 900, 3)
  large = await writtenLog(60, 6000, 7)
})

interface Record {
  readonly name: string
  readonly index: number
  readonly isLast: boolean
}
const recordsOf = (files: Files): readonly Record[] => {
  const all = segmentNames(files).flatMap((name) => linesIn(files.get(name)!).map((_, index) => ({ name, index })))
  return all.map((record, number) => ({ ...record, isLast: number === all.length - 1 }))
}
const lineOf = (files: Files, { name, index }: Pick<Record, 'name' | 'index'>): Buffer =>
  linesIn(files.get(name)!)[index]!
const offsetOf = (files: Files, { name, index }: Pick<Record, 'name' | 'index'>): number =>
  Buffer.concat(linesIn(files.get(name)!).slice(0, index)).length

const flipped = (bytes: Buffer, bit: number): Buffer => {
  const copy = Buffer.from(bytes)
  copy[bit >> 3]! ^= 1 << (bit & 7)
  return copy
}

/** What a flip must be called, where a signed head covers everything: verdict, file, and for records line and offset. */
function expectedOf(files: Files, name: string, byte: number): string {
  const before = files.get(name)!
  const isLastByte = byte === before.length - 1
  if (!name.startsWith('segment-')) return name === 'heads.jsonl' && isLastByte ? 'torn-tail' : 'bad-signature'
  const index = linesIn(before.subarray(0, byte + 1)).length - 1
  const isEnd = isLastByte && name === segmentNames(files).at(-1)
  return `${isEnd ? 'truncated' : 'broken'} ${name}:${index + 1}:${offsetOf(files, { name, index })}`
}

function seenOf(files: Files, name: string, bit: number): string {
  const { verdict, findings } = verify(withFile(files, name, flipped(files.get(name)!, bit)))
  const [first] = findings
  return name.startsWith('segment-') ? `${verdict} ${first?.file}:${first?.line}:${first?.offset}` : verdict
}

const verified = (files: Files): readonly string[] => [...segmentNames(files), 'heads.jsonl', 'public-key.pem']

describe('a flipped bit', () => {
  it('of a small log is guarded: segments, heads and key', () => {
    expect(verify(small).verdict).toBe('ok')
    const wrong: string[] = []
    for (const name of verified(small)) {
      for (const bit of bitsOf(small.get(name)!.length)) {
        const seen = seenOf(small, name, bit)
        if (seen !== expectedOf(small, name, bit >> 3)) wrong.push(`${name} bit ${bit}: ${seen}`)
      }
    }
    expect(wrong).toEqual([])
  })

  it('of a larger log is guarded, in samples', () => {
    const places = verified(large).map((name) => ({ name, bits: large.get(name)!.length * 8 }))
    const flip = fc
      .constantFrom(...places)
      .chain(({ name, bits }) => fc.record({ name: fc.constant(name), bit: fc.nat({ max: bits - 1 }) }))
    fc.assert(
      fc.property(flip, ({ name, bit }) => {
        expect(seenOf(large, name, bit)).toBe(expectedOf(large, name, bit >> 3))
      }),
      dearCases(500, 150),
    )
  })

  it('of the unsigned tail is guarded too, though damage there can look like a torn end', () => {
    const files = withoutLastHead(small)
    const name = segmentNames(files).at(-1)!
    const { signedThrough, last } = verify(files)
    expect(signedThrough).toBeLessThan(last.seq)
    const bytes = files.get(name)!
    const from = Buffer.concat(linesIn(bytes).slice(0, signedThrough - last.seq)).length
    for (let bit = from * 8; bit < bytes.length * 8; bit += 1)
      expect(['torn-tail', 'broken']).toContain(verify(withFile(files, name, flipped(bytes, bit))).verdict)
  })
})

describe('every record', () => {
  it('is missed when it is deleted', () => {
    for (const record of recordsOf(large)) {
      const lines = linesIn(large.get(record.name)!).filter((_, index) => index !== record.index)
      const report = verify(withLines(large, record.name, lines))
      expect([record, report.verdict]).toEqual([record, record.isLast ? 'truncated' : 'broken'])
    }
  })

  it('is out of place when it is swapped with any other', () => {
    const records = recordsOf(large)
    const pair = fc
      .tuple(fc.nat({ max: records.length - 1 }), fc.nat({ max: records.length - 1 }))
      .filter(([one, other]) => one < other)
      .map(([one, other]) => [records[one]!, records[other]!] as const)
    fc.assert(
      fc.property(pair, ([one, other]) => {
        const swapped = put(put(large, one, lineOf(large, other)), other, lineOf(large, one))
        expect(verify(swapped)).toMatchObject({
          verdict: 'broken',
          findings: [{ file: one.name, line: one.index + 1, offset: offsetOf(large, one) }],
        })
      }),
      dearCases(300, 100),
    )
  })

  it('makes a fork or a break when it is inserted a second time', () => {
    const records = recordsOf(large)
    for (const [number, at] of records.entries()) {
      for (const copied of [0, number, Math.min(number + 1, records.length - 1), records.length - 1]) {
        const lines = linesIn(large.get(at.name)!)
        const copy = lineOf(large, records[copied]!)
        const report = verify(withLines(large, at.name, lines.toSpliced(at.index + 1, 0, copy)))
        expect([number, copied, report.verdict]).toEqual([number, copied, copied <= number + 1 ? 'forked' : 'broken'])
      }
    }
  })

  it('makes a fork when a forged one is inserted that links to the one before', () => {
    for (const record of recordsOf(large).filter(({ isLast }) => !isLast)) {
      const lines = linesIn(large.get(record.name)!)
      const before = JSON.parse(lines[record.index]!.toString()) as { seq: number; hash: string }
      const report = verify(withLines(large, record.name, lines.toSpliced(record.index + 1, 0, forged(before))))
      expect(report.verdict).toBe('forked')
    }
  })

  it('is missed when the log is cut at any byte', () => {
    for (const name of segmentNames(small)) {
      const bytes = small.get(name)!
      for (let size = 0; size < bytes.length; size += 1) {
        const isLast = name === segmentNames(small).at(-1)
        const { verdict } = verify(withFile(small, name, bytes.subarray(0, size)))
        expect([name, size, verdict]).toEqual([name, size, isLast ? 'truncated' : 'broken'])
      }
    }
  })

  it('is missed with its whole segment', () => {
    const names = segmentNames(large)
    for (const name of names) {
      const { verdict } = verify(new Map([...large].filter(([each]) => each !== name)))
      expect([name, verdict]).toEqual([name, name === names.at(-1) ? 'truncated' : 'broken'])
    }
  })
})

const put = (files: Files, { name, index }: Record, line: Buffer): Files =>
  withLines(files, name, linesIn(files.get(name)!).with(index, line))

const forged = (after: { seq: number; hash: string }): Buffer =>
  seal({ ...checkEntry(entry(999)), outcome: 'done', intent: null, by: null }, after, {
    time: '2030-01-01T00:00:00.000Z',
    durable: after.seq,
  }).bytes

describe('any other change', () => {
  it('of records or heads is seen: every pair of a small log swapped, every record repeated in every place', () => {
    const records = recordsOf(small)
    const unseen: string[] = []
    for (const [one, first] of records.entries()) {
      for (const [other, second] of records.entries()) {
        const swapped = put(put(small, first, lineOf(small, second)), second, lineOf(small, first))
        if (one !== other && verify(swapped).verdict === 'ok') unseen.push(`${one} and ${other} swapped`)
        const lines = linesIn(small.get(second.name)!).toSpliced(second.index, 0, lineOf(small, first))
        if (verify(withLines(small, second.name, lines)).verdict === 'ok') unseen.push(`${one} again before ${other}`)
      }
    }
    expect(unseen).toEqual([])
  })

  it('of records or heads is seen: any bytes put in, taken out or written over, in samples', () => {
    const names = [...segmentNames(large), 'heads.jsonl']
    const change = fc.constantFrom(...names).chain((name) =>
      fc.record({
        name: fc.constant(name),
        at: fc.nat({ max: large.get(name)!.length }),
        removed: fc.nat({ max: 900 }),
        added: fc.uint8Array({ maxLength: 60 }),
      }),
    )
    fc.assert(
      fc.property(change, ({ name, at, removed, added }) => {
        const before = large.get(name)!
        const after = Buffer.concat([before.subarray(0, at), added, before.subarray(at + removed)])
        fc.pre(!after.equals(before))
        expect(verify(withFile(large, name, after)).verdict).not.toBe('ok')
      }),
      dearCases(500, 150),
    )
  })
})

describe('whoever rewrites history', () => {
  it('is found by the signed heads though every link is right again', () => {
    // The first record is left, then all are made anew without the third.
    const originals = recordsOf(large).map((record) => ({
      record,
      parsed: JSON.parse(lineOf(large, record).toString()),
    }))
    let link = beforeFirst
    let files = large
    for (const { record, parsed } of originals) {
      const { actor, action, subject, outcome, intent, by, data, time, durable } = parsed
      const changed = parsed.seq === 3 ? 'exec_forged' : subject
      const sealed = seal(
        { actor, action, subject: changed, outcome, intent, by, dataText: JSON.stringify(data) },
        link,
        { time, durable },
      )
      link = sealed
      files = put(files, record, sealed.bytes)
    }
    expect(verify(files)).toMatchObject({ verdict: 'forked' })
    // The control: without heads the rewritten chain is in order.
    expect(verify(withFile(files, 'heads.jsonl', Buffer.alloc(0))).verdict).toBe('unsigned-tail')
  })

  it('is found by a head that was kept elsewhere, though the heads were cut back as well', async () => {
    const { last } = verify(large)
    const names = segmentNames(large)
    const heads = linesIn(large.get('heads.jsonl')!)
    const kept = JSON.parse(heads.at(-3)!.toString())
    const shorter = new Map(
      [...large].filter(([name]) => !name.startsWith('segment-') || Number(name.slice(8, 14)) < kept.segment),
    )
    const cut = linesIn(large.get(names[kept.segment - 1]!)!)
    let size = 0
    const keptLines = cut.filter((line) => (size += line.length) <= kept.bytes)
    shorter.set(names[kept.segment - 1]!, Buffer.concat(keptLines))
    shorter.set('heads.jsonl', Buffer.concat(heads.slice(0, -2)))
    // An earlier state of the same log: in itself it is in order.
    expect(verify(shorter).verdict).toBe('ok')
    expect(verifySource(memorySource(shorter), { expect: last }).verdict).toBe('truncated')
    expect(verifySource(memorySource(large), { expect: last }).verdict).toBe('ok')
    expect(verifySource(memorySource(large), { expect: { ...last, hash: 'f'.repeat(64) } }).verdict).toBe('forked')
  })

  it('is found by a key that was kept elsewhere', async () => {
    const other = await writtenLog(2, 6000, 7)
    const key = large.get('public-key.pem')!
    expect(verifySource(memorySource(large), { key }).verdict).toBe('ok')
    expect(verifySource(memorySource(other), { key }).verdict).toBe('bad-signature')
    expect(verify(withFile(other, 'public-key.pem', key)).verdict).toBe('bad-signature')
    expect(verify(new Map([...large].filter(([name]) => name !== 'public-key.pem'))).verdict).toBe('bad-signature')
  })
})

describe('a head', () => {
  const heads = () => linesIn(large.get('heads.jsonl')!)

  it('is missed when it is deleted between others, swapped or repeated', () => {
    for (const [index, line] of heads().entries()) {
      const isLast = index === heads().length - 1
      const deleted = verify(withLines(large, 'heads.jsonl', heads().toSpliced(index, 1)))
      expect(deleted.verdict).toBe(isLast ? 'unsigned-tail' : 'broken')
      expect(verify(withLines(large, 'heads.jsonl', [...heads(), line])).verdict).toBe('broken')
      if (!isLast) {
        const swapped = heads()
          .with(index, heads()[index + 1]!)
          .with(index + 1, line)
        expect(verify(withLines(large, 'heads.jsonl', swapped)).verdict).toBe('broken')
      }
    }
  })
})

describe('two writers that both went on from one copy', () => {
  it('are found: their heads and their records disagree', async () => {
    const one = temporaryLog()
    const other = temporaryLog()
    try {
      const audit = await one.open()
      await audit.append(entry(1))
      await audit.close()
      cpSync(one.directory, other.directory, { recursive: true })
      cpSync(one.keyDirectory, other.keyDirectory, { recursive: true })
      for (const [log, number] of [
        [one, 2],
        [other, 3],
      ] as const) {
        const again = await log.open()
        await again.append(entry(number))
        await again.close()
      }
      const [first, second] = [one.files(), other.files()]
      expect([verify(first).verdict, verify(second).verdict]).toEqual(['ok', 'ok'])
      const strange = linesIn(second.get('heads.jsonl')!).at(-1)!
      const bothHeads = withLines(first, 'heads.jsonl', [...linesIn(first.get('heads.jsonl')!), strange])
      expect(verify(bothHeads).verdict).toBe('forked')
      const name = segmentNames(first)[0]!
      const bothRecords = withLines(first, name, [...linesIn(first.get(name)!), linesIn(second.get(name)!).at(-1)!])
      expect(verify(bothRecords).verdict).toBe('forked')
    } finally {
      one.remove()
      other.remove()
    }
  })
})
