// What a guest says: bounded in memory, and exact up to the limit. The long form is `script/campaign output`.
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  allowedFor,
  allowedGrowthMiB,
  allowedLetThroughMiB,
  flood,
  floodCommandLine,
  type SlowlyRead,
} from './floods.ts'
import { faultGround, starters, type FaultGround } from './ground.ts'

const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex')
const megabytes = (count: number): number => count * 1024 * 1024
const limit = megabytes(1)

describe.skipIf(process.platform !== 'linux')('output of a command', () => {
  let ground: FaultGround
  let workspace: string
  beforeAll(() => {
    // Root where the tests are root's: there a thread stands between guest and host, too.
    ground = faultGround(starters[0] ?? 'user')
    workspace = ground.makeDirectory('workspace')
  })
  afterAll(() => ground.remove())

  it('200 MB on both streams cost bounded memory, are truncated with flags, and keep the exit code', async () => {
    const result = await flood(ground, 'flood', { workspace, bytes: 100_000_000 })
    expect(result).toMatchObject({ ended: { by: 'exit', code: 7 }, stdoutKept: limit, stderrKept: limit })
    expect(result).toMatchObject({ stdoutTruncated: true, stderrTruncated: true })
    expect(result).toMatchObject({ stdoutTotal: 100_000_000, stderrTotal: 100_000_000 })
    expect(result.grewMiB).toBeLessThan(allowedGrowthMiB)
  })

  it('200 MB through the command line cost bounded memory: cut, as JSON, and let through whole', async () => {
    const bytes = 200_000_000
    const idle = await floodCommandLine(ground, { workspace, bytes: 0, flags: [] })
    for (const flags of [[], ['--json'], ['--max-stdout', String(bytes)]]) {
      const { code, peakMiB, stdout } = await floodCommandLine(ground, { workspace, bytes, flags })
      expect(code, flags.join(' ')).toBe(7)
      expect(peakMiB - idle.peakMiB, flags.join(' ')).toBeLessThan(allowedFor(flags))
      if (flags[0] !== '--json') continue
      expect(JSON.parse(stdout)).toMatchObject({ exitCode: 7, stdoutTruncated: true, stdout: '\0'.repeat(limit) })
    }
  })

  it('bytes that are no text, NULs and every byte value arrive as they were written', async () => {
    const every = Buffer.from(Array.from({ length: 256 }, (_, value) => value))
    const broken = Buffer.from([0xc3, 0x28, 0xe2, 0x82, 0x00, 0xf0, 0x9f, 0x98, 0xff, 0xfe, 0xed, 0xa0, 0x80])
    const content = Buffer.concat([randomBytes(megabytes(12)), every, broken, Buffer.alloc(100_000), broken])
    writeFileSync(join(workspace, 'file'), content, { mode: 0o644 })
    const result = await flood(ground, 'file', { workspace })
    expect(result).toMatchObject({ exitCode: 0, stdoutKept: content.length, stdoutTruncated: false })
    expect(result.stdoutSha256).toBe(sha256(content))
  })

  it('characters of several bytes survive when every byte comes alone', async () => {
    const text = 'é€😀 Straße 日本語 \u{1f469}\u200d\u{1f680}\n'.repeat(60)
    writeFileSync(join(workspace, 'file'), text, { mode: 0o644 })
    const result = await flood(ground, 'split', { workspace })
    expect(result).toMatchObject({ exitCode: 0, stdoutSha256: sha256(text), textSha256: sha256(text) })
  })

  it('a line of 100 MB survives', async () => {
    const bytes = megabytes(100)
    const result = await flood(ground, 'line', { workspace, bytes })
    const expected = sha256(Buffer.alloc(bytes, 'x'))
    expect(result).toMatchObject({ exitCode: 0, stdoutKept: bytes, stdoutSha256: expected, textSha256: expected })
  })

  it('a complaint of 100 MB on one line is searched for refusals in linear time', async () => {
    const result = await flood(ground, 'complaint', { workspace, bytes: megabytes(100) })
    expect(result).toMatchObject({ exitCode: 0, stderrTruncated: false })
    // In the square of its length it would take hours.
    expect(result.tookMs).toBeLessThan(60_000)
  })

  it('a slow consumer holds the guest back, loses nothing and costs no memory', async () => {
    writeFileSync(join(workspace, 'progress'), '', { mode: 0o666 })
    const blocks = 400
    const bytes = blocks * 65_536
    const result = await flood<SlowlyRead>(ground, 'slow', { workspace, bytes })
    expect(result).toMatchObject({ exitCode: 0, seen: bytes, stdoutTotal: bytes })
    expect(result.seenSha256).toBe(sha256(Buffer.alloc(bytes)))
    // While nobody read, the guest stood still with no more in flight than pipe and stream hold.
    expect(result.pausedAt.later).toBe(result.pausedAt.written)
    expect(result.pausedAt.written).toBeLessThan(20)
    expect(result.grewMiB).toBeLessThan(allowedLetThroughMiB)
  })
})
