import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LastingExit, LastingFollow } from '../../contract/lasting.ts'
import type { HostPath } from '../../contract/mount.ts'
import { ownIdentity } from '../../process/identity.ts'
import { commandAt, type Begun, type CommandParts } from './lasting-command.ts'

/** As of a shell that is gone: the pid was given out again since. */
const shell = { ...ownIdentity(), pid: 1, startTime: '0' }
const secret = 'a value that was printed'

describe('a lasting command', () => {
  let place: string
  let ended: string[]
  /** The daemon has said that the container is gone. */
  let tellGone: (isGone: boolean) => void
  let gone: Promise<boolean>
  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), 'glovebox-command-'))
    ended = []
    gone = new Promise((resolve) => (tellGone = resolve))
    for (const [name, text] of Object.entries({ told: '', id: 'a1'.repeat(32), stdout: secret, stderr: '' }))
      writeFileSync(join(place, name), text)
  })
  afterEach(() => rmSync(place, { recursive: true, force: true }))

  const begun = (): Begun => ({
    name: 'name',
    shell,
    uptimeMs: 0,
    owner: shell,
    stateDir: place as HostPath,
    hasOwnPipes: true,
  })
  const usualParts = (isGone = true): CommandParts => {
    const circuit = { unlessAway: (begin: () => unknown) => begin(), closedForMs: () => Infinity }
    const endings = {
      begin({ name }: { readonly name: string }) {
        ended.push(name)
        return { tried: Promise.resolve(isGone), gone: isGone ? Promise.resolve(true) : gone }
      },
    }
    return { docker: { circuit }, endings, stateDir: place, place } as unknown as CommandParts
  }
  const command = (isGone = true) => commandAt(usualParts(isGone), 'sbx_0123456789', begun())
  const status = (text: string): void => writeFileSync(join(place, 'status'), `${text.padEnd(15)}\n`)
  const following = (more: Partial<LastingFollow> = {}): LastingFollow => ({
    from: { stdout: 0, stderr: 0 },
    onStdout: () => {},
    onStderr: () => {},
    ...more,
  })
  const fault = (code: string): Error => Object.assign(new Error(code), { code, syscall: 'write' })
  /** As a server does that finds it again: what it was given, and how it ended. */
  const findAgain = async (from: number) => {
    let got = ''
    const onStdout = (chunk: Uint8Array): void => void (got += Buffer.from(chunk).toString())
    const told = await command()
      .follow(following({ from: { stdout: from, stderr: 0 }, onStdout }))
      .catch((error: unknown): unknown => error)
    return { got, told }
  }

  it('whose output was handed over has its own end also for whoever comes next, and none of its output is left', async () => {
    status('exit 0')
    const first = command()
    expect(await first.follow(following())).toEqual({ code: 0 })
    await first.close()
    expect(readFileSync(join(place, 'stdout'), 'utf8')).toBe('\0'.repeat(secret.length))
    expect(await findAgain(secret.length)).toEqual({ got: '', told: { code: 0 } })
  })

  it('that began before the host was started anew has run since then by the clock on the wall, and never less than nothing', () => {
    const ofEarlierBoot = { ...shell, bootId: 'an-earlier-boot' }
    const hourMs = 3_600_000
    const elapsed = (more: Partial<Begun>) =>
      commandAt(usualParts(), 'sbx_0123456789', {
        ...begun(),
        shell: ofEarlierBoot,
        uptimeMs: 1e12,
        ...more,
      }).elapsedMs()
    expect(elapsed({ begunAtMs: Date.now() - hourMs })).toBeGreaterThanOrEqual(hourMs)
    expect(elapsed({ begunAtMs: Date.now() + hourMs }), 'the clock was set back').toBe(0)
    expect(elapsed({}), 'of an earlier version').toBe(0)
  })

  it('that ran out of memory is told as that, without a question to the daemon', async () => {
    status('oom')
    expect(await command().follow(following())).toEqual({ signal: 'SIGKILL', oomKilled: true })
  })

  it.each([
    ['ENOSPC', expect.objectContaining({ code: 'NO_SPACE' }) as unknown],
    ['EIO', { lost: 'some of its output could not be kept' } satisfies LastingExit],
  ])('whose output could not be handed over says so to whoever comes next: %s', async (code, told) => {
    status('exit 0')
    const first = command()
    const onStdout = (): Promise<never> => Promise.reject(fault(code))
    await expect(first.follow(following({ onStdout }))).rejects.toMatchObject({ code })
    await first.close()
    expect(readFileSync(join(place, 'stdout'), 'utf8')).toBe('')
    // Some of it may have been written before the fault.
    expect(await findAgain(3)).toEqual({ got: '', told })
  })

  it('keeps its place while its container may be there', async () => {
    mkdirSync(join(place, 'home'))
    await command(false).forget()
    expect(existsSync(place)).toBe(true)
    tellGone(true)
    await expect.poll(() => existsSync(place)).toBe(false)
  })

  it('keeps its place where nobody goes on ending its container, for the sweep, and has none when it is gone', async () => {
    const forgotten = command(false).forget()
    tellGone(false)
    await forgotten
    expect(existsSync(place)).toBe(true)
    await command().forget()
    expect(existsSync(place)).toBe(false)
  })

  it('that nobody can see the end of is ended at its time, and that is no fault of whoever ends it', async () => {
    // As a disk that answers with a fault.
    symlinkSync('status', join(place, 'status'))
    rmSync(join(place, 'id'))
    symlinkSync('id', join(place, 'id'))
    const late = command()
    const followed = late.follow(following()).catch((error: unknown): unknown => error)
    late.kill()
    expect(await followed).toMatchObject({ code: 'ELOOP' })
    expect([ended, late.endedAgoMs()]).toEqual([['name'], 0])
    await pause(300)
  })

  it('that has ended by itself is not ended, and keeps its end', async () => {
    status('exit 3')
    const late = command()
    late.kill()
    expect([await late.follow(following()), ended]).toEqual([{ code: 3 }, []])
  })
})
