// The start of the command line, against the start of node itself.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { interleave, round } from './interleave.ts'
import { openPlace } from './place.ts'
import { atMost, type Result } from './result.ts'

const bin = fileURLToPath(new URL('../bin/glovebox', import.meta.url))

export async function cliBench(): Promise<readonly Result[]> {
  using place = openPlace()
  const cwd = place.directory('workspace')
  // What else is set for whoever measures may cost node itself more than all of this: a file of certificates does, at each start.
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] }
  const start = (args: readonly string[]) => () =>
    new Promise<void>((resolve, reject) => {
      const child = spawn(process.execPath, args, { cwd, env, stdio: 'ignore' })
      child.once('error', reject)
      child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${args.join(' ')} ended with ${code}`))))
    })
  const times = await interleave({ exec: start([bin, 'exec', '--', 'true']), node: start(['-e', '0']) }, 25)
  return [
    atMost({
      name: 'glovebox exec -- true − bare node',
      promise: '≤ 60 ms',
      measured: round(times.exec.medianMs - times.node.medianMs),
      limit: 60,
      unit: 'ms',
      figures: times,
    }),
  ]
}
