import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, it } from 'vitest'
import { loadAsking } from '../../process/asking.ts'
import { watchMounts } from './mounts.ts'

const asking = loadAsking()

/** A shell with mounts of its own, which does what it is told, a line at a time. */
function openShell(): { readonly pid: number; readonly child: ChildProcess; tell(line: string): Promise<void> } {
  const child = spawn('unshare', ['-rm', 'sh', '-s'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  return {
    pid: child.pid as number,
    child,
    async tell(line) {
      const told = once(lines, 'line')
      child.stdin.write(`${line} && echo done || echo failed\n`)
      expect(await told).toEqual(['done'])
    },
  }
}

describe.skipIf(asking === undefined || process.platform !== 'linux')(
  'mounts that are watched (needs koffi, unshare and /proc)',
  () => {
    let child: ChildProcess | undefined
    afterEach(() => void child?.kill('SIGKILL'))

    it('stand while they are listed at their places, and are read again only when the kernel tells of a change', async () => {
      const shell = openShell()
      child = shell.child
      await shell.tell('mount -t tmpfs tmpfs /mnt')
      let changes = 0
      const mounts = watchMounts({
        hasChanged(mountinfo) {
          const isNew = asking?.hasChanged(mountinfo) ?? true
          if (isNew) changes += 1
          return isNew
        },
      })
      const points = ['/mnt']
      expect(mounts.stand(shell.pid, points)).toBe(true)
      for (let each = 0; each < 5; each += 1) expect(mounts.stand(shell.pid, points)).toBe(true)
      expect(changes).toBe(0)
      await shell.tell('mount -t tmpfs tmpfs /media')
      expect(mounts.stand(shell.pid, points)).toBe(true)
      expect(changes).toBe(1)
      await shell.tell('umount /mnt')
      expect(mounts.stand(shell.pid, points)).toBe(false)
      expect(mounts.stand(shell.pid, points)).toBe(false)
      // Other places are looked for, whether anything has changed or not.
      expect(mounts.stand(shell.pid, ['/media'])).toBe(true)
      mounts.close()
      expect(mounts.stand(shell.pid, ['/media'])).toBe(false)
    })

    it('nothing is held of them once they are closed, nor of a process that has ended', async () => {
      const shell = openShell()
      child = shell.child
      await shell.tell('true')
      const place = `/proc/${shell.pid}/mountinfo`
      const held = (): boolean => openedHere().includes(place)
      const mounts = watchMounts(asking ?? { hasChanged: () => true })
      mounts.stand(shell.pid, [])
      expect(held()).toBe(true)
      mounts.close()
      expect(held()).toBe(false)
      shell.child.kill('SIGKILL')
      await once(shell.child, 'exit')
      expect(watchMounts(asking ?? { hasChanged: () => true }).stand(shell.pid, [])).toBe(false)
    })
  },
)

function openedHere(): readonly string[] {
  return readdirSync('/proc/self/fd').map((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`)
    } catch {
      // The listing's own.
      return ''
    }
  })
}
