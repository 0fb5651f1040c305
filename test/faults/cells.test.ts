// What waits in a resting cell for the next command is killed from the host, behind everybody's back. The command that comes then is run
// in another cell, and never gets the end of something else.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Backend } from '../../src/contract/backend.ts'
import type { HostPath } from '../../src/contract/mount.ts'
import type { Sandbox } from '../../src/contract/sandbox.ts'
import { findSearchProgram, openBackend } from '../conformance/built.ts'
import { below } from './below.ts'
import { createSandbox } from './built-sandbox.ts'

const times = 20

describe('the child that waits in a cell', () => {
  const place = mkdtempSync(join(tmpdir(), 'glovebox-cells-'))
  let backend: Backend
  let sandbox: Sandbox
  beforeAll(async () => {
    const stateDir = join(place, 'state') as HostPath
    mkdirSync(stateDir, { mode: 0o700 })
    backend = await openBackend('bwrap', { stateDir, searchProgram: findSearchProgram() })
    sandbox = await createSandbox({ backend, mounts: [], layers: [] })
  })
  afterAll(async () => {
    await sandbox?.kill()
    await backend?.close?.()
    rmSync(place, { recursive: true, force: true })
  })

  /** One cell, and its child. */
  const waits = async (): Promise<Waiting> => {
    await sandbox.commands.run('true')
    const theOnly = (): Waiting | undefined => (waiting().length === 1 ? waiting()[0] : undefined)
    return await vi.waitUntil(theOnly, { timeout: 20_000 })
  }

  it('may be killed at any moment, and the next command is run all the same', async () => {
    for (let time = 0; time < times; time++) {
      process.kill((await waits()).child, 'SIGKILL')
      expect(await sandbox.commands.run(`echo ${time}; exit 5`)).toMatchObject({ exitCode: 5, stdout: `${time}\n` })
    }
  })

  it('may be killed as a command comes, which is run whole or told as killed', async () => {
    for (let time = 0; time < times; time++) {
      const { child } = await waits()
      const running = sandbox.commands.run(`echo ${time}; exit 5`)
      await delay(time % 4)
      const isMet = kill(child)
      const { ended, stdout } = await running
      if (ended.by === 'exit') expect([ended.code, stdout]).toEqual([5, `${time}\n`])
      else expect([isMet, ended]).toEqual([true, { by: 'signal', signal: 'SIGKILL' }])
    }
    expect(await sandbox.commands.run('echo next')).toMatchObject({ exitCode: 0, stdout: 'next\n' })
  })

  it('may go with its whole cell, and the next command is run or, if it had begun in it, told as killed', async () => {
    for (let time = 0; time < times; time++) {
      process.kill((await waits()).keeper, 'SIGKILL')
      const { ended, stdout } = await sandbox.commands.run(`echo ${time}; exit 5`)
      if (ended.by === 'exit') expect([ended.code, stdout]).toEqual([5, `${time}\n`])
      else expect(ended).toEqual({ by: 'signal', signal: 'SIGKILL' })
    }
  })
})

/** False: it has ended. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}

interface Waiting {
  readonly keeper: number
  readonly child: number
}

/** Below bwrap a shell, and below that one more. */
const waiting = (): readonly Waiting[] =>
  shellsBelow(process.pid).flatMap((keeper) => shellsBelow(keeper).map((child) => ({ keeper, child })))

const shellsBelow = (pid: number): readonly number[] =>
  below(pid)
    .filter(({ name }) => name === 'sh')
    .map((shell) => shell.pid)
