// Small reads and writes of control files. Every one is a system call into the kernel's control group code, done at once: it
// takes microseconds, and a trip through the pool of threads takes longer than the call.
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { GloveboxError } from '../../../errors/error.ts'

export function writeControl(path: string, value: string): void {
  try {
    writeFileSync(path, value)
  } catch (error) {
    throw new GloveboxError('BOUNDARY_FAILED', 'Cannot set a limit: the kernel refused it', {
      operatorDetail: `writing ${JSON.stringify(value)} to ${path}: ${describe(error)}`,
      cause: error,
    })
  }
}

/** Undefined when the file or its group is not there. */
export function findControl(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENODEV')) return undefined
    throw error
  }
}

export function findNumber(path: string): number | undefined {
  const text = findControl(path)
  return text === undefined ? undefined : Number(text.trim())
}

/** A value of a file of `key value` lines; undefined when there is no such line. */
export function valueOf(text: string | undefined, key: string): number | undefined {
  const line = text?.split('\n').find((each) => each.startsWith(`${key} `))
  return line === undefined ? undefined : Number(line.slice(key.length + 1))
}

export function makeGroup(directory: string): void {
  try {
    mkdirSync(directory)
  } catch (error) {
    throw new GloveboxError('BOUNDARY_FAILED', 'Cannot make a control group: the kernel refused it', {
      hint: 'run `glovebox doctor` to see which limits this host can hold',
      operatorDetail: `mkdir ${directory}: ${describe(error)}`,
      cause: error,
    })
  }
}

/** A group is busy until the last of its processes has been buried, which the kernel does a little after the kill. */
export async function removeGroup(directory: string, { deadlineMs }: { readonly deadlineMs: number }): Promise<void> {
  const until = Date.now() + deadlineMs
  for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, 50)) {
    try {
      return rmdirSync(directory)
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return
      if (!hasCode(error, 'EBUSY') || Date.now() > until) {
        throw new GloveboxError('BUSY', 'Cannot remove a control group: processes are still in it', {
          operatorDetail: `rmdir ${directory}: ${describe(error)}`,
          cause: error,
        })
      }
      await delay(waitMs)
    }
  }
}

export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code))

export const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error))
