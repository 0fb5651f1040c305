// Every way in which a crash can leave the end of a log, and every way in which it cannot.
import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseFailpoints } from '../../src/runs/failpoints.ts'
import { codeOf, groundForEach } from '../../src/runs/ground.test-support.ts'
import { openRun } from '../../src/runs/open.ts'
import { readRun } from '../../src/runs/reader.ts'
import { repairTail } from '../../src/runs/recover.ts'
import type { Run } from '../../src/runs/run.ts'
import { scanLog } from '../../src/runs/scan.ts'
import { verifyRun } from '../../src/runs/verify.ts'

const ground = groundForEach()

/** What may stand behind the cut: nothing, NUL bytes up to the full length, or bytes of another file. */
const ways: readonly [string, (missing: number) => Buffer][] = [
  ['a half line', () => Buffer.alloc(0)],
  ['a tail of NUL bytes', (missing) => Buffer.alloc(missing)],
  ['a tail of garbage', (missing) => Buffer.from(`\x7fELF\n\x00${'\xfe'.repeat(missing)}\n{"seq":`, 'latin1')],
]

async function loggedRun(): Promise<{ run: Run; log: Buffer; lines: readonly number[] }> {
  const run = await ground().create()
  await run.transition('running')
  for (let count = 0; count < 4; count++) await run.append({ type: 'note', summary: `note ${count}`, data: { count } })
  const log = readFileSync(join(run.directory, 'events.jsonl'))
  const lines = [...log.entries()].filter(([, byte]) => byte === 10).map(([at]) => at + 1)
  return { run, log, lines }
}

/** Thousands of small steps on a machine that others use too. */
const patience = { timeout: 300_000 }

describe.each(ways)('%s', (_way, filled) => {
  it(
    'at every byte of the last three records is kept aside and cut off, and what stands before it stays',
    patience,
    async () => {
      const { run, log, lines } = await loggedRun()
      const directory = join(ground().directory, 'scanned')
      const first = lines.at(-4) ?? 0
      cpSync(run.directory, directory, { recursive: true })
      for (let cut = first; cut < log.length; cut++) {
        const tail = filled(log.length - cut)
        const torn = Buffer.concat([log.subarray(0, cut), tail])
        writeFileSync(join(directory, 'events.jsonl'), torn)
        const whole = lines.findLast((end) => end <= cut) ?? 0
        const scan = await scanLog(join(directory, 'events.jsonl'))
        expect([cut, scan.rest, scan.goodBytes, scan.damage]).toEqual([
          cut,
          torn.length === whole ? 'none' : 'torn',
          whole,
          undefined,
        ])
        const mentioned = new Set<string>()
        const repair = await repairTail({ directory, scan, mentioned, failpoint: () => {}, now: () => 0 })
        expect(log.subarray(0, whole).equals(readFileSync(join(directory, 'events.jsonl')))).toBe(true)
        const kept = readdirSync(directory).filter((name) => name.startsWith('events.torn-'))
        expect(repair?.keptAs ?? []).toEqual(kept)
        const aside = Buffer.concat(kept.map((name) => readFileSync(join(directory, name))))
        expect(torn.subarray(whole).equals(aside)).toBe(true)
        for (const name of kept) rmSync(join(directory, name))
      }
    },
  )

  it('is repaired by the next open: an event says so, seq goes on, and the run verifies', patience, async () => {
    const { run, log, lines } = await loggedRun()
    for (let cut = lines.at(-4) ?? 0; cut < log.length; cut += 31) {
      const crashed = ground().crashedCopy(run)
      const torn = Buffer.concat([log.subarray(0, cut), filled(log.length - cut)])
      writeFileSync(join(crashed, 'events.jsonl'), torn)
      const whole = lines.filter((end) => end <= cut)
      const wasTorn = torn.length > (whole.at(-1) ?? 0)
      expect(await readRun(crashed)).toMatchObject({ integrity: wasTorn ? 'torn' : 'intact', events: whole.length })
      const opened = await openRun(crashed)
      await opened.run.close()
      const types: string[] = []
      for await (const event of opened.run.events({ afterSeq: whole.length })) types.push(event.type)
      expect(types).toEqual(wasTorn ? ['log_repaired', 'run_ended'] : ['run_ended'])
      expect(opened.run.record.status).toBe('lost')
      expect((await verifyRun(crashed)).findings).toEqual([])
      rmSync(crashed, { recursive: true })
    }
  })
})

describe('a torn tail', () => {
  it('behind an end is kept aside, and the end stays the last event', async () => {
    const run = await ground().create()
    await run.transition('cancelled')
    await run.close()
    const log = readFileSync(join(run.directory, 'events.jsonl'))
    writeFileSync(join(run.directory, 'events.jsonl'), Buffer.concat([log, Buffer.alloc(100)]))
    const { run: again, repairs } = await openRun(run.directory)
    await again.close()
    expect(repairs).toEqual(['100 bytes of a torn tail were kept aside'])
    expect(readFileSync(join(run.directory, 'events.jsonl'))).toEqual(log)
    expect((await verifyRun(run.directory)).findings).toEqual([])
  })

  it('that was an end, of which run.json speaks, makes the run lost with the reason', async () => {
    const run = await ground().create()
    await run.transition('running')
    await run.transition('completed')
    const crashed = ground().crashedCopy(run)
    const log = readFileSync(join(crashed, 'events.jsonl'))
    writeFileSync(join(crashed, 'events.jsonl'), log.subarray(0, -20))
    const again = await openRun(crashed)
    await again.run.close()
    expect(again.run.record).toMatchObject({ status: 'lost', failure_reason: 'log_torn' })
    expect((await verifyRun(crashed)).findings).toEqual([])
  })

  it.each(['run.recover.beforeTruncate', 'run.recover.afterTruncate'] as const)(
    'is told of once even if the repair is cut off at %s',
    async (name) => {
      const { run, log } = await loggedRun()
      const crashed = ground().crashedCopy(run)
      writeFileSync(join(crashed, 'events.jsonl'), log.subarray(0, -9))
      await codeOf(() => openRun(crashed, { failpoint: parseFailpoints(`${name}=error:EIO`) }))
      const again = await openRun(crashed)
      await again.run.close()
      const told: unknown[] = []
      for await (const event of again.run.events()) if (event.type === 'log_repaired') told.push(event.data['kept_as'])
      expect(told).toEqual([
        readdirSync(crashed)
          .filter((file) => file.startsWith('events.torn-'))
          .toSorted(),
      ])
      expect((await verifyRun(crashed)).findings).toEqual([])
    },
  )
})

describe('damage', () => {
  it('by one flipped bit, anywhere in the log, is reported and never fixed', patience, async () => {
    const { run, log } = await loggedRun()
    const crashed = ground().crashedCopy(run)
    const path = join(crashed, 'events.jsonl')
    for (let at = 0; at < log.length; at++) {
      const flipped = Buffer.from(log)
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8))
      writeFileSync(path, flipped)
      const { integrity } = await readRun(crashed)
      expect([at, integrity]).toEqual([at, 'broken'])
      if (at % 97 === 0) {
        expect(await codeOf(() => openRun(crashed))).toBe('RECORD_DAMAGED')
        expect(readFileSync(path)).toEqual(flipped)
      }
    }
  })
})
