// Readers whose network goes away without a word: no packet tells the server that they are gone.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const canCut =
  process.getuid?.() === 0 &&
  spawnSync('sh', ['-c', 'command -v ss && unshare --net ip link set lo up'], { stdio: 'ignore' }).status === 0

interface Told {
  readonly before: { readonly cuts: number; readonly held: number; readonly heard: boolean }
  readonly after: { readonly cuts: number; readonly held: number; readonly mostBeats: number }
  readonly codes: readonly string[]
}

describe.skipIf(!canCut)('a reader that is half open [needs root, ip and ss]', () => {
  it('is let go when at most three heartbeats were not heard, and one that only waits is not', () => {
    const place = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-half-open-')))
    const driver = fileURLToPath(new URL('./hosts/half-open.mjs', import.meta.url))
    try {
      const told = JSON.parse(
        execFileSync('unshare', ['--net', process.execPath, driver, place, '10'], { encoding: 'utf8', cwd: place }),
      ) as Told
      // Control: while the network is there, more heartbeats pass than that, and nobody is let go.
      expect(told.before).toMatchObject({ cuts: 0, heard: true })
      expect(told.before.held).toBeGreaterThanOrEqual(10)
      expect(told.after.cuts).toBe(10)
      expect(told.after.held).toBeLessThanOrEqual(told.before.held - 10)
      // Counted by what nobody has acknowledged, not by a clock. A kernel alone would go on for a quarter of an hour.
      expect(told.after.mostBeats).toBeGreaterThan(0)
      expect(told.after.mostBeats).toBeLessThanOrEqual(3)
      expect(told.codes).toEqual(['"code":"SLOW_CONSUMER"'])
    } finally {
      rmSync(place, { recursive: true, force: true })
    }
  })
})
