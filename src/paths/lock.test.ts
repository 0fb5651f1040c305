import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { groundForEach, guest, onLinux, refused } from '../../test/fixtures/temporary-mounts.ts'
import { formatHolder, isDead, parseHolder, thisHolder, type Holder } from './holder.ts'
import { openLockFiles } from './lock-file.ts'
import { openLocks } from './lock.ts'

const ground = groundForEach()
const asked = { verb: 'write', path: guest('/workspace/a') }
const key = 'k'
const lockNames = (): string[] => readdirSync(ground().lockDir).filter((name) => name.endsWith('.lock'))

const plant = (holder: Holder | string): void => {
  mkdirSync(ground().lockDir, { recursive: true })
  writeFileSync(join(ground().lockDir, `${key}.lock`), typeof holder === 'string' ? holder : formatHolder(holder))
}
const takenOver = async (): Promise<boolean> => {
  const locks = openLocks(ground().lockDir, { waitMs: 500 })
  try {
    return await locks.hold([key], asked, () => Promise.resolve(true)).catch(() => false)
  } finally {
    locks.close()
  }
}
const endedPid = async (): Promise<number> => {
  const child = spawn('true')
  await once(child, 'exit')
  return child.pid as number
}

describe.skipIf(!onLinux)('locks', () => {
  it('let one work at a time per key, in order, and leave nothing behind', async () => {
    const locks = openLocks(ground().lockDir)
    const order: number[] = []
    let inside = 0
    await Promise.all(
      Array.from({ length: 20 }, (_, turn) =>
        locks.hold([key], asked, async () => {
          expect(++inside).toBe(1)
          await Promise.resolve()
          order.push(turn)
          inside--
        }),
      ),
    )
    expect(order).toEqual(Array.from({ length: 20 }, (_, turn) => turn))
    locks.close()
    expect(readdirSync(ground().lockDir)).toEqual([])
  })

  it('do not wait in a circle when two keys are taken in both orders', async () => {
    const locks = openLocks(ground().lockDir)
    const both = Array.from({ length: 10 }, (_, i) =>
      locks.hold(i % 2 ? ['a', 'b'] : ['b', 'a', 'a'], asked, async () => i),
    )
    expect(await Promise.all(both)).toHaveLength(10)
    locks.close()
  })

  it('exclude another holder, who gets BUSY after its wait, and the queue goes on', async () => {
    const [a, b] = [openLocks(ground().lockDir), openLocks(ground().lockDir, { waitMs: 20 })]
    let free = (): void => {}
    const holding = a.hold([key], asked, () => new Promise<void>((done) => (free = done)))
    await refused(
      'BUSY',
      b.hold([key], asked, async () => {}),
    )
    const queued = [1, 2].map(() =>
      refused(
        'BUSY',
        b.hold([key], asked, async () => {}),
      ),
    )
    await Promise.all(queued)
    free()
    await holding
    expect(await b.hold([key], asked, async () => 'mine')).toBe('mine')
    a.close()
    b.close()
  })

  it('are released when the work throws', async () => {
    const locks = openLocks(ground().lockDir)
    await expect(locks.hold([key], asked, () => Promise.reject(new Error('mine')))).rejects.toThrow('mine')
    expect(await locks.hold([key], asked, async () => 1)).toBe(1)
    locks.close()
  })

  it('of a dead process are taken over', async () => {
    plant({ ...thisHolder(), pid: await endedPid() })
    expect(await takenOver()).toBe(true)
    expect(lockNames()).toEqual([])
  })

  it('of a process whose pid was given out again are taken over', async () => {
    plant({ ...thisHolder(), startTime: '1' })
    expect(await takenOver()).toBe(true)
  })

  it('of another boot are taken over', async () => {
    plant({ ...thisHolder(), bootId: 'before' })
    expect(await takenOver()).toBe(true)
  })

  it('that a power cut left empty or torn are taken over', async () => {
    for (const torn of ['', 'abc', '\0\0\0\0']) {
      plant(torn)
      expect(await takenOver()).toBe(true)
    }
  })

  it('of a living process are not taken over, nor of one that cannot be judged', async () => {
    plant(thisHolder())
    expect(await takenOver()).toBe(false)
    plant({ ...thisHolder(), pidNamespace: 'pid:[1]', pid: await endedPid() })
    expect(await takenOver()).toBe(false)
  })

  it('of a dead holder go to exactly one of many', async () => {
    for (let round = 0; round < 20; round++) {
      plant({ ...thisHolder(), startTime: '1' })
      const rivals = Array.from({ length: 8 }, () => openLockFiles(ground().lockDir))
      expect(rivals.filter((rival) => rival.tryAcquire(`${key}.lock`))).toHaveLength(1)
      for (const rival of rivals) rival.close()
      rivals[0]?.release(`${key}.lock`)
    }
  })

  it('are taken over even when a taker died half way', async () => {
    const stale = { ...thisHolder(), startTime: '1' }
    plant(stale)
    const taker = openLockFiles(ground().lockDir)
    expect(taker.tryAcquire(`${key}.lock`)).toBe(true)
    taker.release(`${key}.lock`)
    taker.close()
    const right = `${createHash('sha256').update(`${key}.lock\n${stale.nonce}`).digest('hex')}.takeover`
    plant(stale)
    writeFileSync(join(ground().lockDir, right), formatHolder({ ...thisHolder(), startTime: '2' }))
    expect(await takenOver()).toBe(true)
    expect(lockNames()).toEqual([])
  })

  it('survive that somebody sweeps their directory away', async () => {
    const locks = openLocks(ground().lockDir)
    await locks.hold([key], asked, async () => rmSync(ground().lockDir, { recursive: true }))
    expect(await locks.hold([key], asked, async () => 1)).toBe(1)
    locks.close()
  })

  it('tell the operator, and not the guest, when their directory cannot be used', async () => {
    writeFileSync(ground().lockDir, 'a file')
    const locks = openLocks(ground().lockDir)
    await refused(
      'BACKEND_UNAVAILABLE',
      locks.hold([key], asked, async () => {}),
    )
    locks.close()
  })
})

describe.skipIf(!onLinux)('a holder', () => {
  it('survives its own format', () => {
    const holder = thisHolder()
    expect(parseHolder(formatHolder(holder))).toEqual(holder)
    expect(readFileSync('/proc/self/stat', 'utf8')).toContain(` ${holder.startTime} `)
  })

  it('is not dead while it lives, and dead as a zombie', async () => {
    expect(isDead(thisHolder())).toBe(false)
    // `sleep` takes the shell's place and waits for nobody, so the child stays a zombie.
    const shell = spawn('sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 5 >&-'], { stdio: ['ignore', 'pipe', 'ignore'] })
    try {
      const [line] = (await once(shell.stdout, 'data')) as [Buffer]
      const pid = Number(line.toString())
      const stat = (): string => readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '')
      await expect.poll(() => stat().charAt(0)).toBe('Z')
      expect(isDead({ ...thisHolder(), pid, startTime: stat().split(' ')[19] as string })).toBe(true)
    } finally {
      shell.kill()
      await once(shell, 'close')
    }
  })
})
