import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../contract/sandbox.ts'
import type { Shell } from '../../contract/shell.ts'
import { openShellCommands } from './shell-commands.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const limits = ['maxStdoutBytes', 'maxStderrBytes'].map((field) => ({ field, value: 1024 }))
const sandbox = { describe: () => ({ policy: limits }) } as unknown as Sandbox

const shellOf = (): Shell => {
  let count = 0
  const start = async (command: string) => {
    const number = (count += 1)
    return { number, result: Promise.resolve({ number, command, stdoutTotalBytes: 0, stderrTotalBytes: 0 }) }
  }
  return { id: 'sh_1', kind: 'commands', start } as unknown as Shell
}

describe('commands of a shell', () => {
  it('are found again by their numbers, whoever holds the shell', async () => {
    const commands = openShellCommands()
    const shell = shellOf()
    const { number, command } = await commands.of(sandbox, shell).start('one', {})
    expect(commands.of(sandbox, shell).find(number)).toBe(command)
    expect(await commands.of(sandbox, shell).run('two', {})).toMatchObject({ number: 2, command: 'two' })
  })

  it('do not hold a shell that nobody else holds any more', async () => {
    const commands = openShellCommands()
    const use = async (shell: Shell): Promise<WeakRef<Shell>> => {
      await commands.of(sandbox, shell).run('one', {})
      const { command } = await commands.of(sandbox, shell).start('two', {})
      await command.settled
      return new WeakRef(shell)
    }
    const seen = await use(shellOf())
    const isHeld = (): boolean => {
      collectGarbage()
      return seen.deref() !== undefined
    }
    await expect.poll(isHeld, { timeout: 5000 }).toBe(false)
  })
})
