import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { endedAt, followSpool, hasEnd, writeUnkept } from './spool.ts'

let place: string
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'glovebox-spool-'))
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

function follow(from: { stdout: number; stderr: number }, isWriterAlive: () => boolean) {
  const got = { stdout: '', stderr: '' }
  const options = {
    from,
    onStdout: (chunk: Uint8Array) => void (got.stdout += Buffer.from(chunk).toString()),
    onStderr: (chunk: Uint8Array) => void (got.stderr += Buffer.from(chunk).toString()),
  }
  return { got, end: followSpool(place, options, isWriterAlive) }
}

describe('a spool', () => {
  it('is handed on as it grows, to its end', async () => {
    const { got, end } = follow({ stdout: 0, stderr: 0 }, () => true)
    writeFileSync(join(place, 'stdout'), 'one ')
    await expect.poll(() => got.stdout, { timeout: 5000 }).toBe('one ')
    appendFileSync(join(place, 'stdout'), 'two')
    writeFileSync(join(place, 'stderr'), 'err')
    writeFileSync(join(place, 'status'), 'exit 42\n')
    expect(await end).toEqual({ code: 42, isOwn: true })
    expect(got).toEqual({ stdout: 'one two', stderr: 'err' })
  })

  it('is read on from the byte that somebody else had reached', async () => {
    writeFileSync(join(place, 'stdout'), 'first second')
    writeFileSync(join(place, 'status'), '0\n')
    const { got, end } = follow({ stdout: 6, stderr: 0 }, () => false)
    expect(await end).toEqual({ code: 0, isOwn: false })
    expect(got.stdout).toBe('second')
  })

  it('of a writer that is gone without a word, or in the middle of it, has no end, and keeps what was written', async () => {
    writeFileSync(join(place, 'stdout'), 'left')
    writeFileSync(join(place, 'status'), 'exit 4')
    const { got, end } = follow({ stdout: 0, stderr: 0 }, () => false)
    expect(await end).toBeUndefined()
    expect(got.stdout).toBe('left')
  })

  it('of which memory ran out says so', async () => {
    writeFileSync(join(place, 'status'), `${'oom'.padEnd(15)}\n`)
    expect(await follow({ stdout: 0, stderr: 0 }, () => true).end).toEqual({ code: 137, isOwn: true, isOfMemory: true })
  })

  it.each(['full', 'fault'] as const)('of which some could not be written says so: %s', async (unkept) => {
    writeFileSync(join(place, 'stdout'), 'the head')
    writeFileSync(join(place, 'status'), `${unkept.padEnd(15)}\n`)
    const { got, end } = follow({ stdout: 0, stderr: 0 }, () => true)
    expect([await end, got.stdout]).toEqual([{ unkept }, 'the head'])
  })

  it.each(['exit \n', 'exit 0 0\n', '\0\0\n'])('with a status that says nothing has no end: %j', async (status) => {
    writeFileSync(join(place, 'status'), status)
    expect(await follow({ stdout: 0, stderr: 0 }, () => true).end).toBeUndefined()
  })

  it.each(['', 'exit', 'exit 4', '4', ' '.repeat(15), 'exit 4         '])(
    'is not over while its status is half written: %j',
    async (half) => {
      writeFileSync(join(place, 'status'), half)
      const { got, end } = follow({ stdout: 0, stderr: 0 }, () => true)
      writeFileSync(join(place, 'stdout'), 'last words')
      await expect.poll(() => got.stdout).toBe('last words')
      writeFileSync(join(place, 'status'), 'exit 42\n')
      expect(await end).toEqual({ code: 42, isOwn: true })
    },
  )

  it('of which memory ran out says so', async () => {
    writeFileSync(join(place, 'status'), `${'oom'.padEnd(15)}\n`)
    expect(await follow({ stdout: 0, stderr: 0 }, () => true).end).toEqual({ code: 137, isOwn: true, isOfMemory: true })
  })

  it.each(['full', 'fault'] as const)('says of what was not handed on that it was not kept: %s', async (unkept) => {
    for (const before of [undefined, 'exit 0         \n', ' '.repeat(15)]) {
      if (before !== undefined) writeFileSync(join(place, 'status'), before)
      writeUnkept(place, { unkept })
      expect([await follow({ stdout: 0, stderr: 0 }, () => true).end, hasEnd(place)]).toEqual([{ unkept }, true])
    }
  })

  it('that cannot be looked at has no end that a timer could ask for, and whoever follows it hears why', async () => {
    symlinkSync('status', join(place, 'status'))
    expect([hasEnd(place), endedAt(place)]).toEqual([false, undefined])
    await expect(follow({ stdout: 0, stderr: 0 }, () => true).end).rejects.toMatchObject({ code: 'ELOOP' })
  })

  const canLimit = spawnSync('prlimit', ['--version']).status === 0
  it.skipIf(!canLimit)('is read on when there are descriptors again [needs prlimit]', async () => {
    const { got, end } = follow({ stdout: 0, stderr: 0 }, () => true)
    const script = [
      'cd "$0"; was=$(prlimit --pid $PPID --nofile --noheadings --output SOFT)',
      'prlimit --pid $PPID --nofile=5:',
      'echo words >stdout; printf "%-15s\\n" "exit 7" >status; mkdir written',
      // Without descriptors, this is what the other side can make.
      'until [ -d seen ]; do sleep 0.01; done; prlimit --pid $PPID --nofile=$was:',
    ].join('\n')
    const shell = spawn('sh', ['-c', script, place], { stdio: 'ignore' })
    await expect.poll(() => existsSync(join(place, 'written'))).toBe(true)
    // Whoever has looked in vain is not over.
    expect(await Promise.race([end, pause(500)])).toBeUndefined()
    expect(hasEnd(place)).toBe(true)
    mkdirSync(join(place, 'seen'))
    await once(shell, 'close')
    expect([await end, got.stdout]).toEqual([{ code: 7, isOwn: true }, 'words\n'])
  })
})
