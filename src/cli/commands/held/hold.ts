// The process that holds a shell for `glovebox shell`. Nobody sees what it prints; what goes wrong is told to whoever sits at the shell.
import { createSandbox } from '../../../runtime/create.ts'
import { holdShell } from '../../../runtime/held/hold.ts'
import { readyWord } from '../../../runtime/held/start.ts'
import { requestFrom } from '../../request.ts'
import { watchInterrupts } from '../../signals.ts'
import { programOf, type ShellFlags } from '../shell.ts'

/** What is to be held. */
export interface HoldOrder {
  readonly id: string
  readonly argv: readonly string[]
  readonly flags: ShellFlags
  readonly directory: string
}

export async function hold(): Promise<number> {
  const { id, argv, flags, directory } = await readOrder()
  const interrupts = watchInterrupts()
  await holdShell({
    id,
    directory,
    signal: interrupts.signal,
    onReady: () => void process.stdout.write(`${readyWord}\n`),
    async open(size) {
      const sandbox = await createSandbox({ ...(await requestFrom(flags, directory)), ownsProcess: true })
      try {
        return { sandbox, terminal: await sandbox.shells.open({ pty: size, ...programOf(argv) }) }
      } catch (error) {
        await sandbox.kill()
        throw error
      }
    },
  })
  return 0
}

async function readOrder(): Promise<HoldOrder> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as HoldOrder
}
