// What a round trip through a live shell costs over a bare bash on a pipe, in the same run.
import { Sandbox } from '../src/index.ts'
import type { Shell } from '../src/contract/shell.ts'
import { interleave, round, type Figures } from './interleave.ts'
import { openPlace } from './place.ts'
import { rawShell } from './raw-shell.ts'
import { atMost, type Result } from './result.ts'

const rounds = 1000

export async function shellBenches(): Promise<readonly Result[]> {
  using place = openPlace()
  const mounts = [{ guestPath: '/workspace', hostPath: place.directory('workspace') }]
  await using sandbox = await Sandbox.create({ mounts })
  await using shell = await sandbox.shells.open()
  using raw = rawShell()
  const builtin = await compare(shell, raw.run(':'), ':')
  const program = await compare(shell, raw.run('/bin/true'), '/bin/true')
  return [
    over('builtin in a live shell, over the raw pipe', builtin, 0.5),
    over('/bin/true in a live shell, over the raw pipe', program, 1),
  ]
}

interface Compared {
  readonly ours: Figures
  readonly raw: Figures
}

const compare = (shell: Shell, raw: () => Promise<void>, command: string): Promise<Compared> =>
  interleave({ ours: async () => check(await shell.exec(command)), raw }, rounds, 100)

function check({ exitCode, state }: Awaited<ReturnType<Shell['exec']>>): void {
  if (exitCode !== 0 || state !== 'kept') throw new Error(`the command ended with ${exitCode}, the shell is ${state}`)
}

const over = (name: string, { ours, raw }: Compared, limit: number): Result =>
  atMost({
    name,
    promise: `≤ ${limit} ms`,
    measured: round(ours.medianMs - raw.medianMs),
    limit,
    unit: 'ms',
    figures: { ours, raw },
  })
