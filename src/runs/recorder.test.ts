import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { firstPrevHash } from '../contract/event.ts'
import { parseFailpoints, type Failpoint } from './failpoints.ts'
import { codeOf, groundForEach } from './ground.test-support.ts'
import { openRecorder, type Recorder } from './recorder.ts'

const ground = groundForEach()
const ids = { run_id: 'r', session_id: 's', task_id: 't' }

function open(options: { sync?: (fd: number) => Promise<void>; failpoint?: Failpoint } = {}): {
  recorder: Recorder
  path: string
} {
  const path = join(ground().directory, 'events.jsonl')
  writeFileSync(path, '')
  return { path, recorder: openRecorder({ path, ids, head: { seq: 0, hash: firstPrevHash }, ...options }) }
}

const write = (recorder: Recorder, type = 'note'): void => recorder.write(recorder.prepare({ type, summary: '' }))

/** A sync that ends when told to, and counts. */
function slowSync(): { readonly calls: number; next(): void; sync(): Promise<void> } {
  const waiting: (() => void)[] = []
  let calls = 0
  return {
    get calls() {
      return calls
    },
    next: () => waiting.shift()?.(),
    sync: () => {
      calls += 1
      return new Promise((resolve) => void waiting.push(resolve))
    },
  }
}

const turns = async (): Promise<void> => {
  for (let count = 0; count < 10; count++) await Promise.resolve()
}

describe('the recorder', () => {
  it('seq begins at 1 and has no gap', async () => {
    const { recorder, path } = open()
    for (let count = 0; count < 5; count++) write(recorder)
    await recorder.close()
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual([1, 2, 3, 4, 5])
  })

  it('concurrent appends share a sync, and none is answered before a sync that began after it', async () => {
    const disk = slowSync()
    const { recorder } = open({ sync: disk.sync })
    const answered: number[] = []
    const append = (id: number): void => {
      write(recorder)
      void recorder.commit().then(() => answered.push(id))
    }
    for (let id = 0; id < 50; id++) append(id)
    await turns()
    expect(disk.calls).toBe(1)
    for (let id = 50; id < 100; id++) append(id)
    await turns()
    expect([disk.calls, answered.length]).toEqual([1, 0])
    disk.next()
    await turns()
    expect([disk.calls, answered.length]).toEqual([2, 50])
    disk.next()
    await turns()
    expect([disk.calls, answered.length]).toEqual([2, 100])
    await recorder.close()
  })

  it('what is written reaches the file before the write returns', async () => {
    const { recorder, path } = open()
    write(recorder)
    expect(statSync(path).size).toBe(recorder.offset)
    await recorder.close()
  })

  it('what nobody waits for is synced within a second', async () => {
    let calls = 0
    const { recorder } = open({ sync: async () => void calls++ })
    write(recorder)
    expect(calls).toBe(0)
    await vi.waitFor(() => expect(calls).toBe(1), { timeout: 3000 })
    await recorder.close()
    expect(calls).toBe(1)
  })

  it('after a sync that failed nothing more is accepted', async () => {
    const { recorder } = open({
      sync: async () => Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'fdatasync' })),
    })
    write(recorder)
    expect(await codeOf(() => recorder.commit())).toBe('INTERNAL')
    expect(await codeOf(async () => write(recorder))).toBe('RECORD_DAMAGED')
    expect(await codeOf(() => recorder.commit())).toBe('RECORD_DAMAGED')
    await recorder.close()
  })

  it('a write that fails for want of space is taken back, and only an end is accepted afterwards', async () => {
    let isFull = false
    const fails = parseFailpoints('run.append.beforeWrite=error:ENOSPC')
    const { recorder, path } = open({ failpoint: (name) => isFull && fails(name) })
    write(recorder)
    const { size } = statSync(path)
    isFull = true
    expect(await codeOf(async () => write(recorder))).toBe('NO_SPACE')
    isFull = false
    expect(await codeOf(async () => write(recorder))).toBe('NO_SPACE')
    expect(statSync(path).size).toBe(size)
    recorder.write(recorder.prepare({ type: 'run_ended', summary: '' }), { isTerminal: true })
    expect(recorder.head.seq).toBe(2)
    await recorder.close()
  })

  it('after close nothing is accepted, and close may be called twice', async () => {
    const { recorder } = open()
    await recorder.close()
    await recorder.close()
    expect(await codeOf(async () => write(recorder))).toBe('RUN_ENDED')
  })
})

describe('failpoints', () => {
  it('do what they say, and an unknown one is refused', () => {
    expect(() => parseFailpoints('run.append.beforeWrite=error:EIO')('run.append.beforeWrite')).toThrow('EIO')
    expect(() => parseFailpoints('run.append.beforeWrite=error:EIO')('run.append.afterWrite')).not.toThrow()
    const before = performance.now()
    parseFailpoints('run.append.afterSync=sleep:30')('run.append.afterSync')
    expect(performance.now() - before).toBeGreaterThan(25)
    for (const bad of [
      'nothing=kill',
      'run.append.afterSync=explode',
      'run.append.afterSync',
      'run.append.afterSync=sleep:x',
      'run.append.afterSync=kill:x',
    ]) {
      expect(() => parseFailpoints(bad)).toThrow('Cannot use the failpoints')
    }
    expect(() => parseFailpoints('')('run.append.afterSync')).not.toThrow()
    // The control of a kill is test/faults/run-kill: here the time for it has not come.
    expect(() => parseFailpoints('run.append.afterSync=kill:2')('run.append.afterSync')).not.toThrow()
  })
})
