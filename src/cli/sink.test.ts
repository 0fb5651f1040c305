import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openSink } from './sink.ts'

describe('a sink', () => {
  it('writes chunks whole and in the order in which they came, awaited or not', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'glovebox-sink-'))
    try {
      const file = join(directory, 'out')
      const descriptor = openSync(file, 'w')
      const sink = openSink(descriptor)
      const parts = Array.from({ length: 50 }, (_, index) => `${index}:${'x'.repeat(index * 1000)}\n`)
      await Promise.all(parts.map((part) => sink.write(part)))
      closeSync(descriptor)
      expect(readFileSync(file, 'utf8')).toBe(parts.join(''))
      expect(sink.isTerminal).toBe(false)
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })

  it('drops what comes after its reader has gone, and does not reject', async () => {
    const closed = 9999
    const sink = openSink(closed)
    await sink.write('lost')
    expect(sink.open).toBe(false)
    expect(sink.fault, 'nobody wants it').toBeUndefined()
    await sink.write('lost too')
  })

  it('tells what was in the way when bytes could not be taken', async () => {
    const descriptor = openSync('/dev/full', 'w')
    const sink = openSink(descriptor)
    await sink.write('lost')
    expect([sink.open, sink.fault]).toEqual([false, 'ENOSPC'])
    closeSync(descriptor)
  })
})
