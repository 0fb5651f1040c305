import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { bytes, groundForEach, guest, onLinux } from '../fixtures/temporary-mounts.ts'

const ground = groundForEach()
const built = fileURLToPath(new URL('../../dist/paths/host-files.js', import.meta.url))

// Tells a point on stdout for every increment that was answered.
const counter = `
  const { openHostFiles } = await import(process.argv[1])
  const [hostPath, lockDir, times] = process.argv.slice(2)
  const mounts = [{ guestPath: '/workspace', hostPath, mode: 'rw' }]
  const files = openHostFiles({ mounts, protect: [], denyRead: [], lockDir })
  for (let i = 0; i < Number(times); i++) {
    await files.update('/workspace/count', { maxBytes: 20 }, (old) => Buffer.from(String(Number(Buffer.from(old)) + 1)))
    process.stdout.write('.')
  }
  files.close()
`

interface Counter {
  readonly child: ChildProcess
  readonly points: () => number
  readonly ended: Promise<unknown>
}

function startCounter(times: number): Counter {
  const argv = ['--input-type=module', '-e', counter, built, ground().inside, ground().lockDir, String(times)]
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
  let points = 0
  child.stdout.on('data', (chunk: Buffer) => (points += chunk.length))
  return { child, points: () => points, ended: once(child, 'close') }
}

const count = (): number => Number(readFileSync(ground().host('count'), 'utf8'))

describe.skipIf(!onLinux)('the lock on a path', () => {
  it('loses no update between processes', async () => {
    ground().put('count', '0')
    const counters = Array.from({ length: 4 }, () => startCounter(50))
    await Promise.all(counters.map(({ ended }) => ended))
    expect(counters.map(({ child }) => child.exitCode)).toEqual([0, 0, 0, 0])
    expect(count()).toBe(200)
    expect(readdirSync(ground().lockDir)).toEqual([])
  })

  it('is taken over from every process that was killed, and no answered update is lost', async () => {
    ground().put('count', '0')
    const survivor = startCounter(150)
    let answered = 0
    const kills = 8
    for (let kill = 0; kill < kills; kill++) {
      const victim = startCounter(100_000)
      await once(victim.child.stdout as NodeJS.ReadableStream, 'data')
      await delay(Math.random() * 30)
      victim.child.kill('SIGKILL')
      await victim.ended
      answered += victim.points()
    }
    await survivor.ended
    expect(survivor.child.exitCode).toBe(0)
    expect(survivor.points()).toBe(150)
    // Each of the killed may have finished one update that it could no longer tell of.
    expect(count()).toBeGreaterThanOrEqual(answered + 150)
    expect(count()).toBeLessThanOrEqual(answered + 150 + kills)
    await ground()
      .open({ lockWaitMs: 10_000 })
      .update(guest('/workspace/count'), { maxBytes: 20 }, () => bytes('0'))
    expect(count()).toBe(0)
    expect(readdirSync(ground().lockDir).filter((name) => name.endsWith('.lock'))).toEqual([])
  })
})
