import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { followSpool } from './spool.ts'

let place: string
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'glovebox-spool-'))
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

function follow(from: { stdout: number; stderr: number }, isWriterAlive: () => boolean) {
  const got = { stdout: '', stderr: '' }
  const options = {
    from,
    onStdout: (chunk: Uint8Array) => void (got.stdout += Buffer.from(chunk).toString()),
    onStderr: (chunk: Uint8Array) => void (got.stderr += Buffer.from(chunk).toString()),
  }
  return { got, code: followSpool(place, options, isWriterAlive) }
}

describe('a spool', () => {
  it('is handed on as it grows, to its end', async () => {
    const { got, code } = follow({ stdout: 0, stderr: 0 }, () => true)
    writeFileSync(join(place, 'stdout'), 'one ')
    await expect.poll(() => got.stdout, { timeout: 5000 }).toBe('one ')
    appendFileSync(join(place, 'stdout'), 'two')
    writeFileSync(join(place, 'stderr'), 'err')
    writeFileSync(join(place, 'status'), '42\n')
    expect(await code).toBe(42)
    expect(got).toEqual({ stdout: 'one two', stderr: 'err' })
  })

  it('is read on from the byte that somebody else had reached', async () => {
    writeFileSync(join(place, 'stdout'), 'first second')
    writeFileSync(join(place, 'status'), '0\n')
    const { got, code } = follow({ stdout: 6, stderr: 0 }, () => false)
    expect(await code).toBe(0)
    expect(got.stdout).toBe('second')
  })

  it('of a writer that is gone without a word has no code, and keeps what was written', async () => {
    writeFileSync(join(place, 'stdout'), 'left')
    const { got, code } = follow({ stdout: 0, stderr: 0 }, () => false)
    expect(await code).toBeUndefined()
    expect(got.stdout).toBe('left')
  })

  it('with a torn status has no code', async () => {
    writeFileSync(join(place, 'status'), '')
    expect(await follow({ stdout: 0, stderr: 0 }, () => true).code).toBeUndefined()
  })
})
