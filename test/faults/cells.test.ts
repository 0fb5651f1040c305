// What waits in a resting cell for the next command is killed from the host, behind everybody's back. The command that comes then is run
// in another cell, and never gets the end of something else.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Backend } from '../../src/contract/backend.ts'
import type { HostPath } from '../../src/contract/mount.ts'
import type { Sandbox } from '../../src/contract/sandbox.ts'
import { findSearchProgram, openBackend } from '../conformance/built.ts'
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
  const waits = async (): Promise<number> => {
    await sandbox.commands.run('true')
    await expect.poll(waiting).toHaveLength(1)
    return waiting()[0] ?? 0
  }

  it('may be killed at any moment, and the next command is run all the same', async () => {
    for (let time = 0; time < times; time++) {
      process.kill(await waits(), 'SIGKILL')
      expect(await sandbox.commands.run(`echo ${time}; exit 5`)).toMatchObject({ exitCode: 5, stdout: `${time}\n` })
    }
  })

  it('may be killed as a command comes, which is run whole or told as killed', async () => {
    for (let time = 0; time < times; time++) {
      const victim = await waits()
      const running = sandbox.commands.run(`echo ${time}; exit 5`)
      await delay(time % 4)
      const isMet = kill(victim)
      const { ended, stdout } = await running
      if (ended.by === 'exit') expect([ended.code, stdout]).toEqual([5, `${time}\n`])
      else expect([isMet, ended]).toEqual([true, { by: 'signal', signal: 'SIGKILL' }])
    }
    expect(await sandbox.commands.run('echo next')).toMatchObject({ exitCode: 0, stdout: 'next\n' })
  })

  it('may go with its whole cell, and the next command is run or, if it had begun in it, told as killed', async () => {
    for (let time = 0; time < times; time++) {
      process.kill(parentOf(await waits()), 'SIGKILL')
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

const parentOf = (pid: number): number =>
  Number(/\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1] ?? Number.NaN)

/** Shells without children below this process whose parent is a shell, too: bwrap, keeper, child. */
function waiting(): readonly number[] {
  const seen = new Map<number, { readonly parent: number; readonly name: string }>()
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry)
    if (!Number.isInteger(pid)) continue
    try {
      const [, name = '', parent = ''] = /\((.*)\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? []
      seen.set(pid, { parent: Number(parent), name })
    } catch {
      // It has ended meanwhile.
    }
  }
  const isBelowUs = (pid: number): boolean => {
    for (let at = seen.get(pid)?.parent; at !== undefined && at > 1; at = seen.get(at)?.parent)
      if (at === process.pid) return true
    return false
  }
  const parents = new Set([...seen.values()].map(({ parent }) => parent))
  return [...seen]
    .filter(([pid, { parent, name }]) => name === 'sh' && seen.get(parent)?.name === 'sh' && !parents.has(pid))
    .map(([pid]) => pid)
    .filter(isBelowUs)
}
