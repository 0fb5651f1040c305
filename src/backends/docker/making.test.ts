import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { platform } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { identityOf } from '../../process/identity.ts'
import { away, type Circuit } from './circuit.ts'
import { openMaking } from './making.ts'

const open: Pick<Circuit, 'unlessAway' | 'closedForMs'> = {
  unlessAway: () => Promise.resolve(away),
  closedForMs: () => 0,
}

describe.skipIf(platform !== 'linux')('a container that is not made yet [needs /proc]', () => {
  let place: string
  let shell: ChildProcess
  let ended: Promise<unknown>
  /** Docker's part is played by whatever runs in the shell's group. */
  const begin = (script: string) => {
    shell = spawn('/bin/sh', ['-c', `${script}; sleep 300 | cat`], { cwd: place, detached: true, stdio: 'ignore' })
    ended = new Promise((resolve) => shell.once('exit', (_code, signal) => resolve(signal)))
    const isMade = (): boolean => existsSync(join(place, 'id'))
    return { place, shell: identityOf(shell.pid ?? 0), isMade }
  }
  const untilEnded = (): Promise<undefined> => ended.then(() => undefined)
  const until = async (isMade: () => boolean): Promise<string> => {
    while (!isMade()) await pause(20)
    return 'made'
  }
  beforeEach(() => void (place = mkdtempSync(join(tmpdir(), 'glovebox-making-'))))
  afterEach(async () => {
    try {
      process.kill(-(shell.pid ?? 0), 'SIGKILL')
    } catch {
      // It was ended by what is tried here.
    }
    await ended
    rmSync(place, { recursive: true, force: true })
  })

  it('is given up while the daemon is away, and whoever comes later knows it', async () => {
    const parts = begin('true')
    const making = openMaking({ ...parts, circuit: open })
    expect([making.isGivenUp(), making.mayStillBeMade()]).toEqual([false, true])
    expect(await making.attend(untilEnded)).toBeUndefined()
    expect([await ended, making.isGivenUp()]).toEqual(['SIGKILL', true])
    const later = openMaking({ ...parts, circuit: { ...open, closedForMs: () => Infinity } })
    expect([later.isGivenUp(), later.mayStillBeMade()]).toEqual([true, false])
  })

  it('is ended with whoever holds it when nobody waits for that any more, and may be made late', async () => {
    const making = openMaking({ ...begin('true'), circuit: open })
    expect(making.isHeld()).toBe(true)
    making.letGo()
    expect([await ended, making.isHeld(), making.mayStillBeMade()]).toEqual(['SIGKILL', false, true])
  })

  it('whose holder cannot be seen from here is held until nobody waits for that any more', () => {
    const parts = begin('true')
    const making = openMaking({ ...parts, shell: { ...parts.shell, pidNamespace: 'pid:[1]' }, circuit: open })
    expect(making.isHeld()).toBe(true)
    making.letGo()
    expect([making.isHeld(), shell.exitCode, shell.signalCode]).toEqual([false, null, null])
  })

  it('may still be made by the daemon for a while after it was given up', async () => {
    let closedForMs = 0
    const making = openMaking({ ...begin('true'), circuit: { ...open, closedForMs: () => closedForMs } })
    await making.attend(untilEnded)
    expect(making.mayStillBeMade()).toBe(true)
    closedForMs = 60_000
    expect(making.mayStillBeMade()).toBe(false)
  })

  it('goes on where it turns out to be made', async () => {
    const parts = begin('while [ ! -e go ]; do sleep 0.02; done; echo gone on >said')
    let looked = 0
    // Docker writes its id down between the first look and the moment at which it is held still.
    const making = openMaking({ ...parts, circuit: open, isMade: () => ++looked > 2 })
    void making.attend(untilEnded)
    await expect.poll(() => looked).toBeGreaterThan(2)
    expect(making.isGivenUp()).toBe(false)
    writeFileSync(join(place, 'go'), '')
    await expect
      .poll(() => existsSync(join(place, 'said')) && readFileSync(join(place, 'said'), 'utf8'))
      .toBe('gone on\n')
  })

  it('is left alone where nobody waits for it any more', async () => {
    const unlessAway = (): Promise<typeof away> => pause(50).then(() => away)
    const making = openMaking({ ...begin('true'), circuit: { ...open, unlessAway } })
    expect(await making.attend(() => Promise.resolve('told'))).toBe('told')
    await pause(500)
    expect([making.isGivenUp(), making.mayStillBeMade()]).toEqual([false, true])
  })

  it('that cannot be looked at is told to whoever follows it, also where that fails first, and to nobody else', async () => {
    const isMade = (): never => {
      throw new Error('a fault of the disk')
    }
    const making = openMaking({ ...begin('true'), circuit: open, isMade })
    await expect(making.attend(() => Promise.reject(new Error('another')))).rejects.toThrow('another')
    making.letGo()
    await expect(making.attend(() => ended.then(() => undefined))).rejects.toThrow('a fault of the disk')
  })

  it('is not given up behind the back of whoever has stopped to follow it', async () => {
    let looked = 0
    let fail: (error: Error) => void = () => {}
    const followed = new Promise<undefined>((_, reject) => (fail = reject))
    // Just before it is held still.
    const isMade = (): boolean => {
      if (++looked === 2) fail(new Error('let go'))
      return false
    }
    const making = openMaking({ ...begin('true'), circuit: open, isMade })
    await expect(making.attend(() => followed)).rejects.toThrow('let go')
    await pause(700)
    expect([looked > 1, making.isGivenUp(), shell.exitCode, shell.signalCode]).toEqual([true, false, null, null])
  })

  it('is waited for while the daemon answers', async () => {
    const parts = begin('sleep 0.5; : >id')
    const making = openMaking({ ...parts, circuit: { ...open, unlessAway: (work) => work() } })
    expect(await making.attend(() => until(parts.isMade))).toBe('made')
    expect(making.isGivenUp()).toBe(false)
  })
})
