// What an exec costs in a container that is there already, over `docker exec`; and in one of its own, over `docker run`.
import { execFile } from 'node:child_process'
import { chownSync } from 'node:fs'
import { promisify } from 'node:util'
import { Sandbox } from '../src/index.ts'
import { openBackendFor } from '../src/runtime/create.ts'
import { execOnce } from './exec-once.ts'
import { interleave, round } from './interleave.ts'
import { openPlace } from './place.ts'
import { atMost, type Result } from './result.ts'
import { serve } from './served.ts'

const run = promisify(execFile)
const image = 'glovebox/sandbox:latest'
const command = ['/bin/true'] as const

export async function dockerBenches(): Promise<readonly Result[]> {
  using place = openPlace()
  const workspace = place.directory('workspace')
  // A container never runs as root.
  if (process.getuid?.() === 0) chownSync(workspace, 1000, 1000)
  // Opened once, as a program does that makes more than one sandbox.
  const backend = await openBackendFor({ backend: 'docker', docker: { image } })
  const create = (): Promise<Sandbox> =>
    Sandbox.create({ backend, mounts: [{ guestPath: '/workspace', hostPath: workspace }] })
  await using sandbox = await create()
  const mine = `label=dev.glovebox.sandbox=${sandbox.id}`
  const { stdout } = await run('docker', ['ps', '--filter', mine, '--format', '{{.Names}}'])
  const [name = ''] = stdout.trim().split('\n')
  const live = await interleave(
    {
      ours: async () => check(await sandbox.commands.run(command)),
      exec: async () => void (await run('docker', ['exec', name, ...command])),
    },
    30,
  )
  const walls = [
    '--network=none',
    '--cap-drop=ALL',
    '--security-opt=no-new-privileges',
    '--read-only',
    '--user=1000:1000',
  ]
  const limits = ['--memory=1024m', '--cpus=1', '--pids-limit=256']
  const dockerRun = async (...words: readonly string[]): Promise<void> =>
    void (await run('docker', ['run', '--rm', ...walls, ...limits, '-v', `${workspace}:/workspace`, image, ...words]))
  let last: string = sandbox.id
  const single = await interleave(
    {
      async ours() {
        await using once = await create()
        last = once.id
        check(await once.commands.run(command))
      },
      run: () => dockerRun(...command),
    },
    20,
    3,
    async () => {
      if (last !== sandbox.id) await cleared(`label=dev.glovebox.sandbox=${last}`)
    },
  )
  await using served = await serve(place, 'served', ['--backend', 'docker'])
  const recorded = await interleave(
    { ours: () => execOnce(served), run: () => dockerRun('bash', '-lc', 'true') },
    20,
    3,
    () => cleared('label=dev.glovebox.lasting=1'),
  )
  return [
    atMost({
      name: 'exec in a live container ÷ docker exec',
      promise: '≤ 0.1',
      measured: round(live.ours.medianMs / live.exec.medianMs),
      limit: 0.1,
      unit: 'ratio',
      figures: live,
    }),
    atMost({
      name: 'one-shot in a container of its own ÷ docker run',
      promise: '≤ 1.1',
      measured: round(single.ours.medianMs / single.run.medianMs),
      limit: 1.1,
      unit: 'ratio',
      figures: single,
    }),
    atMost({
      name: 'exec of the API in a container of its own, with its record, ÷ docker run',
      promise: '≤ 1.1',
      measured: round(recorded.ours.medianMs / recorded.run.medianMs),
      limit: 1.1,
      unit: 'ratio',
      figures: recorded,
    }),
  ]
}

/** Nothing runs in a killed one, and Docker clears it away in its own time: that must not be the other contestant's burden. */
async function cleared(filter: string): Promise<void> {
  while ((await run('docker', ['ps', '--all', '--quiet', '--filter', filter])).stdout.trim() !== '');
}

function check(result: { readonly exitCode: number; readonly stderr: string }): void {
  if (result.exitCode !== 0) throw new Error(`the command ended with ${result.exitCode}: ${result.stderr}`)
}
