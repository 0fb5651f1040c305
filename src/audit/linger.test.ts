import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { entry, temporaryLog, type TemporaryLog } from './temporary-log.test-support.ts'
import { verifyAudit } from './verify.ts'

let log: TemporaryLog
beforeEach(() => {
  log = temporaryLog()
})
afterEach(() => log.remove())

describe('a writer that keeps its turn for a moment', () => {
  it('lets another one have its turn, however busy it is, and the chain holds', async () => {
    const busy = await log.open({ lingerMs: 5 })
    const other = await log.open()
    let isOver = false
    let written = 0
    const writing = (async () => {
      while (!isOver) {
        await busy.append(entry(written++))
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
    })()
    const waits: number[] = []
    for (let number = 0; number < 10; number++) {
      const begun = performance.now()
      await other.append(entry(1000 + number))
      waits.push(performance.now() - begun)
    }
    isOver = true
    await writing
    await busy.close()
    await other.close()
    // One that never got its turn would wait for as long as the other is busy.
    expect(Math.max(...waits)).toBeLessThan(15_000)
    const report = verifyAudit(log.directory)
    expect([report.verdict, report.checked.records]).toEqual(['ok', written + 10 + 1])
  })

  it('gives the log back when it has nothing more to write, and at once when it is closed', async () => {
    const idle = await log.open({ lingerMs: 5 })
    await idle.append(entry(1))
    const other = await log.open({ waitMs: 1000 })
    await other.append(entry(2))
    await other.close()
    await idle.append(entry(3))
    await idle.close()
    expect(verifyAudit(log.directory).verdict).toBe('ok')
  })
})
