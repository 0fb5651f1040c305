import { closeSync, openSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { describe, expect, it } from 'vitest'
import { loadAsking } from './asking.ts'

const asking = loadAsking()

describe.skipIf(asking === undefined || process.platform !== 'linux')('asking (needs koffi and /proc)', () => {
  it('a signal that comes in between is no error', async () => {
    const mountinfo = openSync('/proc/self/mountinfo', 'r')
    const session = new Session()
    session.connect()
    try {
      // A profiler interrupts the process thousands of times in a second.
      await session.post('Profiler.enable')
      await session.post('Profiler.setSamplingInterval', { interval: 50 })
      await session.post('Profiler.start')
      const askOften = (): void => {
        for (let each = 0; each < 50_000; each += 1) asking?.hasChanged(mountinfo)
      }
      expect(askOften).not.toThrow()
      await session.post('Profiler.stop')
    } finally {
      session.disconnect()
      closeSync(mountinfo)
    }
  })

  it('a descriptor that is none is told as one', () => {
    expect(() => asking?.countUnread(-1)).toThrow('EBADF')
  })
})
