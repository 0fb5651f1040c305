import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findKoffi } from './koffi.ts'
import { endOf, loadLightSpawner, type LightRequest, type LightSpawner } from './light-spawn.ts'

describe('the end of a child as wait(2) tells it', () => {
  it('is a code, or a signal by its name', () => {
    expect(endOf(0)).toEqual({ code: 0, signal: null })
    expect(endOf(125 << 8)).toEqual({ code: 125, signal: null })
    expect(endOf(9)).toEqual({ code: null, signal: 'SIGKILL' })
    expect(endOf(15 | 0x80), 'with a core').toEqual({ code: null, signal: 'SIGTERM' })
  })
})

describe.skipIf(process.platform !== 'linux' || process.getuid?.() !== 0)('a child without a copy (needs root)', () => {
  const nobody = { uid: 65_534, gid: 65_534 }

  async function saidBy(script: string, more: Partial<LightRequest> = {}): Promise<string> {
    const spawner = loadLightSpawner() as LightSpawner
    const place = join(tmpdir(), `glovebox-light-${process.pid}-${Math.random()}`)
    const [out, nothing] = [openSync(place, 'w'), openSync('/dev/null', 'r+')]
    try {
      const stdio = [nothing, out, out]
      const pid = spawner.start({ file: '/bin/sh', args: ['-c', script], ...nobody, stdio, ...more })
      while (spawner.findEnd(pid) === undefined) await new Promise((resolve) => setTimeout(resolve, 2))
      return readFileSync(place, 'utf8').replaceAll(`${pid}`, 'itself')
    } finally {
      for (const descriptor of [out, nothing]) closeSync(descriptor)
      rmSync(place)
    }
  }

  it('has the id that was asked for, and no variable that was not given', async () => {
    expect(await saidBy('/usr/bin/id -u; /usr/bin/env')).toBe('65534\nPWD=/\n')
    expect(await saidBy('/usr/bin/env', { env: { GIVEN: 'a b' } })).toContain('GIVEN=a b\n')
  })

  it('has a session of its own where that was asked for', async () => {
    const session = 'read -r _ _ _ _ _ session _ < /proc/self/stat; echo $session'
    expect(await saidBy(session)).not.toBe('itself\n')
    expect(await saidBy(session, { detached: true })).toBe('itself\n')
  })

  it('leaves the signal that we get when our own parent dies', async () => {
    const libc = findKoffi()?.load(null)
    const set = libc?.func('int prctl(int option, unsigned long value)') as (option: number, value: number) => number
    const get = libc?.func('int prctl(int option, _Out_ int *answer)') as (option: number, answer: number[]) => number
    const [setDeathSignal, getDeathSignal, userSignal] = [1, 2, 12]
    const now: number[] = [0]
    try {
      set(setDeathSignal, userSignal)
      await saidBy('true')
      get(getDeathSignal, now)
    } finally {
      set(setDeathSignal, 0)
    }
    expect(now).toEqual([userSignal])
  })
})
