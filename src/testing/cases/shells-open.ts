// What the cases about shells begin with: one of their own, in a directory of their own.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Shell, ShellExecOptions, ShellResult } from '../../contract/shell.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import type { Subject } from '../case.ts'

export interface OpenedShell {
  readonly sandbox: Sandbox
  readonly shell: Shell
  /** The case's directory, inside; the shell was opened in it. */
  readonly guest: string
  readonly beat: string
  /** The command's stdout, where it ended with 0. */
  says(command: string, options?: ShellExecOptions): Promise<string>
}

export async function withShell(subject: Subject, work: (opened: OpenedShell) => Promise<void>): Promise<void> {
  const scene = await subject.scene('plain')
  const { guest, host } = await subject.room(scene)
  const shell = await scene.sandbox.shells.open({ cwd: guest })
  try {
    const says = async (command: string, options?: ShellExecOptions): Promise<string> => {
      const result = await shell.exec(command, options)
      assert.deepEqual(result.ended, { by: 'exit', code: 0 }, `${command}: ${result.stderr.slice(0, 500)}`)
      return result.stdout
    }
    await work({ sandbox: scene.sandbox, shell, guest, beat: join(host, 'beat'), says })
  } finally {
    await shell.close()
  }
}

/** How it ended, what it said, and what is left of the shell. */
export const told = ({ ended, stdout, stderr, state }: ShellResult) => ({ ended, stdout, stderr, state })

export const exit = (code: number) => ({ by: 'exit', code }) as const
