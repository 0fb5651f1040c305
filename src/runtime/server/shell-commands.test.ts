import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../contract/sandbox.ts'
import type { Shell } from '../../contract/shell.ts'
import { openOutputRoom } from './output-room.ts'
import { openShellCommands } from './shell-commands.ts'
import { entryBytes } from './shelf.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const wideRoom = () => openOutputRoom({ outputBytesPerToken: 1e9, outputBytes: 1e9 })

const limits = ['maxStdoutBytes', 'maxStderrBytes'].map((field) => ({ field, value: 1024 }))
const sandbox = { describe: () => ({ policy: limits }) } as unknown as Sandbox

const waited = { taken: Promise.resolve() }

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
    const commands = openShellCommands(wideRoom())
    const shell = shellOf()
    const { number, command } = await commands.of(sandbox, shell).start('tok', 'one', {})
    expect(commands.of(sandbox, shell).find(number)).toBe(command)
    expect(await commands.of(sandbox, shell).run('tok', 'two', waited)).toMatchObject({ number: 2, command: 'two' })
  })

  it('do not hold a shell that nobody else holds any more', async () => {
    const commands = openShellCommands(wideRoom())
    const use = async (shell: Shell): Promise<WeakRef<Shell>> => {
      await commands.of(sandbox, shell).run('tok', 'one', waited)
      const { command } = await commands.of(sandbox, shell).start('tok', 'two', {})
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

  it('take the share of whoever gives them, in all shells together, and are refused where it is used up', async () => {
    const room = openOutputRoom({ outputBytesPerToken: 2 * entryBytes, outputBytes: 1e9 })
    const commands = openShellCommands(room)
    const ends: (() => void)[] = []
    const waiting = (id: string): Shell => {
      const end = { number: 1, stdoutTotalBytes: 0, stderrTotalBytes: 0 }
      const result = new Promise((resolve) => ends.push(() => resolve(end)))
      return { id, kind: 'commands', start: async () => ({ number: 1, result }) } as unknown as Shell
    }
    const begin = (tokenId: string, id: string) => commands.of(sandbox, waiting(id)).start(tokenId, 'one', {})
    const begun = [await begin('tok', 'sh_1'), await begin('tok', 'sh_2')]
    await expect(begin('tok', 'sh_3')).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    begun.push(await begin('other', 'sh_3'))
    for (const end of ends) end()
    await Promise.all(begun.map(({ command }) => command.settled))
    expect(room.heldBytes).toBe(0)
    await begin('tok', 'sh_4')
  })
})
