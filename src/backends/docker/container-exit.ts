// How a container's command ended, when docker says one thing and the daemon may say another. Only where both agree is it known.
import type { ProcessExit } from '../../contract/backend.ts'
import type { Answer, DockerCli } from './cli.ts'
import { signalIn } from './exit.ts'
import { firstLine } from './facts.ts'
import { hasEventOfMemory, isToldOfMemory } from './late-memory.ts'

export interface DockerEnd {
  /** Of `docker run`, which passes on the command's own where all went well. */
  readonly code: number
  /** The head of the standard error, where docker's own complaints are too. */
  readonly said: () => string
}

const inspect = (cli: DockerCli, name: string): Promise<Answer> => {
  const format = '{{.State.Status}} {{.State.ExitCode}} {{.State.OOMKilled}} {{.State.StartedAt}}'
  return cli.ask(['container', 'inspect', '--format', format, '--', name])
}

export async function exitOfContainer(cli: DockerCli, name: string, { code, said }: DockerEnd): Promise<ProcessExit> {
  const { code: asked, stdout, stderr } = await inspect(cli, name)
  if (asked !== 0) {
    // Refused before it was made: nothing of the command has run.
    if (code === 125 && /no such container/i.test(stderr)) return { setupFailed: firstLine(said()) }
    return { lost: `docker ended with ${code}, and the container cannot be asked` }
  }
  const [status, exitCode, oomKilled, startedAt = ''] = stdout.trim().split(' ')
  if (status === 'created') return { setupFailed: firstLine(said()) }
  if (status !== 'exited' || Number(exitCode) !== code)
    return {
      lost: `docker ended with ${code}, and the container is ${status ?? 'unknown'} with ${exitCode ?? 'no code'}`,
    }
  const signal = signalIn(code)
  if (signal === undefined) return { code }
  if (signal !== 'SIGKILL') return { signal }
  if (oomKilled === 'true') return { signal, oomKilled: true }
  // The container's own word was written down with its end. What the daemon heard behind that is only among its events.
  const isTold = (): Promise<boolean> => hasEventOfMemory(cli, name, startedAt)
  return (await isToldOfMemory(isTold)) ? { signal, oomKilled: true } : { signal }
}
