// A directory for each test, in memory where the host has such a place, so that thousands of syncs cost nothing.
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { createRun, type CreateRunOptions, type Run } from './run.ts'

export interface Ground {
  readonly directory: string
  create(options?: Partial<CreateRunOptions>): Promise<Run>
  /** What a process that was killed now would leave: everything, and a lock whose owner is gone. */
  crashedCopy(run: Run): string
}

export function groundForEach(): () => Ground {
  let ground: Ground | undefined
  let runs: Run[] = []
  beforeEach(() => {
    const directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'glovebox-runs-'))
    let count = 0
    ground = {
      directory,
      async create(options = {}) {
        const sandboxPath = join(directory, `run-${++count}`)
        const run = await createRun({ config: { name: 'demo' }, prompt: 'Do it.', sandboxPath, ...options })
        runs.push(run)
        return run
      },
      crashedCopy(run) {
        const copy = join(directory, `crashed-${++count}`)
        cpSync(run.directory, copy, { recursive: true, verbatimSymlinks: true })
        rmSync(join(copy, 'logs', 'run.lock'))
        return copy
      },
    }
  })
  afterEach(async () => {
    await Promise.all(runs.map((run) => run.close()))
    runs = []
    if (ground !== undefined) rmSync(ground.directory, { recursive: true, force: true })
  })
  return () => {
    if (ground === undefined) throw new Error('there is no ground outside of a test')
    return ground
  }
}

export const thrownBy = async (work: () => Promise<unknown>): Promise<unknown> =>
  work().then(
    () => undefined,
    (error: unknown) => error,
  )

export const codeOf = async (work: () => Promise<unknown>): Promise<string> => {
  const error = await thrownBy(work)
  if (error === undefined) return 'nothing was thrown'
  if (!(error instanceof Error)) return 'what was thrown is no error'
  return 'code' in error ? String(error.code) : `without a code: ${error.message}`
}
