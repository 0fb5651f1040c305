// What an exec costs over bwrap itself, whether the size of the workspace matters, and what a neighbour needs for the same.
import { Sandbox } from '../src/index.ts'
import { interleave, round, type Figures } from './interleave.ts'
import { openPlace } from './place.ts'
import { rawBwrap } from './raw-bwrap.ts'
import { atMost, type Result } from './result.ts'
import { sandboxRuntime } from './srt.ts'

const command = ['/bin/true'] as const
const rounds = 60

export async function execBenches(): Promise<readonly Result[]> {
  using place = openPlace()
  const workspace = place.directory('workspace')
  await using sandbox = await Sandbox.create({ mounts: [{ guestPath: '/workspace', hostPath: workspace }] })
  const raw = await rawBwrap(place, workspace, command)
  const srt = await sandboxRuntime(place.directory('srt'))
  const ours = { library: async () => check(await sandbox.commands.run(command)), raw }
  const times = 'run' in srt ? await interleave({ ...ours, srt: srt.run }, rounds) : await interleave(ours, rounds)
  const { library, raw: bare } = times
  const neighbour = 'srt' in times ? (times.srt as Figures) : undefined
  return [
    atMost({
      name: 'library exec ÷ raw bwrap with the same argv',
      promise: '≤ 1.15',
      measured: round(library.medianMs / bare.medianMs),
      limit: 1.15,
      unit: 'ratio',
      figures: { library, raw: bare },
    }),
    atMost({
      name: 'library exec ÷ @anthropic-ai/sandbox-runtime',
      promise: '≤ 1',
      measured: neighbour === undefined ? Number.NaN : round(library.medianMs / neighbour.medianMs),
      limit: 1,
      unit: 'ratio',
      figures: neighbour === undefined ? { notRun: 'why' in srt ? srt.why : '' } : { library, srt: neighbour },
    }),
  ]
}

export async function workspaceBench(): Promise<readonly Result[]> {
  using place = openPlace()
  const small = place.tree('small', 1)
  const large = place.tree('large', 50_000)
  await using one = await Sandbox.create({ mounts: [{ guestPath: '/workspace', hostPath: small }] })
  await using many = await Sandbox.create({ mounts: [{ guestPath: '/workspace', hostPath: large }] })
  const times = await interleave(
    {
      small: async () => check(await one.commands.run(command)),
      large: async () => check(await many.commands.run(command)),
    },
    2 * rounds,
  )
  return [
    atMost({
      name: 'exec in a workspace of 50,000 files ÷ of 1 file',
      promise: '≤ 1.05',
      measured: round(times.large.medianMs / times.small.medianMs),
      limit: 1.05,
      unit: 'ratio',
      figures: times,
    }),
  ]
}

function check(result: { readonly exitCode: number; readonly stderr: string }): void {
  if (result.exitCode !== 0) throw new Error(`the command ended with ${result.exitCode}: ${result.stderr}`)
}
