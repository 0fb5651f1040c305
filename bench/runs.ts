// Runs: how fast artifacts are hashed against sha256sum over the same files, how fast a run is verified, and what recording
// adds to an exec.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { randomFillSync } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Sandbox, runs, type Outcome } from '../src/index.ts'
import { artifactManifest } from '../src/runs/artifacts.ts'
import { createRun, type Run } from '../src/runs/run.ts'
import { verifyRun } from '../src/runs/verify.ts'
import { interleave, round, type Figures } from './interleave.ts'
import { openPlace, type Place } from './place.ts'
import { atLeast, atMost, type Result } from './result.ts'

const megabyte = 1_000_000
const mebibyte = 1024 * 1024

export async function runsBenches(): Promise<readonly Result[]> {
  // Recording first: the others leave hundreds of megabytes for the disk to catch up with, and it would be charged with them.
  const record = await recordBench()
  return [record, await hashBench(), await verifyBench()]
}

/** A workspace as builds leave it: a few large files, and many that are not. */
function fill(root: string): number {
  const bytes = Buffer.allocUnsafe(16 * mebibyte)
  let total = 0
  const write = (name: string, size: number): void => {
    writeFileSync(join(root, name), randomFillSync(bytes.subarray(0, size)))
    total += size
  }
  for (let index = 0; index < 12; index += 1) write(`large-${index}`, 16 * mebibyte)
  for (let parent = 0; parent < 20; parent += 1) {
    mkdirSync(join(root, `d${parent}`))
    for (let index = 0; index < 50; index += 1) write(`d${parent}/f${index}`, 2048 + ((index * 7919) % 60_000))
  }
  return total
}

async function hashBench(): Promise<Result> {
  using place = openPlace()
  const [workspace, deliverables] = [place.directory('workspace'), place.directory('deliverables')]
  const total = fill(workspace)
  let hashed = 0
  const times = await interleave(
    {
      ours: async () => {
        hashed = (await artifactManifest({ workspace, deliverables, runId: 'run_bench' })).totals.hashed_bytes
      },
      sha256sum: () => sha256sum(workspace),
    },
    9,
    1,
  )
  if (hashed !== total) throw new Error(`${hashed} of ${total} bytes were hashed`)
  const perSecond = (ms: number): number => round(total / megabyte / (ms / 1000))
  return atLeast({
    name: 'artifact manifest, bytes per second ÷ sha256sum over the same files',
    promise: '≥ 0.7',
    measured: round(times.sha256sum.medianMs / times.ours.medianMs),
    limit: 0.7,
    unit: 'ratio',
    figures: {
      ...times,
      megabytes: round(total / megabyte),
      oursMegabytesPerSecond: perSecond(times.ours.medianMs),
      sha256sumMegabytesPerSecond: perSecond(times.sha256sum.medianMs),
    },
  })
}

async function sha256sum(directory: string): Promise<void> {
  const find = spawn('find', [directory, '-type', 'f', '-exec', 'sha256sum', '{}', '+'], { stdio: 'ignore' })
  const [code] = (await once(find, 'close')) as [number]
  if (code !== 0) throw new Error(`find ended with ${code}`)
}

/** Only the log: the files of a run are read as fast as the bench above tells. */
async function verifyBench(): Promise<Result> {
  using place = openPlace()
  const run = await longRun(place)
  let report = await verifyRun(run.directory)
  const { ours } = await interleave({ ours: async () => void (report = await verifyRun(run.directory)) }, 7, 1)
  if (!report.ok) throw new Error(`the run has findings: ${report.findings[0]?.detail}`)
  const bytes = report.checked.eventBytes
  return atLeast({
    name: 'runs verify, over the events of a long run',
    promise: '≥ 50 MB/s',
    measured: round(bytes / megabyte / (ours.medianMs / 1000)),
    limit: 50,
    unit: 'MB/s',
    figures: { ...report.checked, medianMs: ours.medianMs },
  })
}

async function longRun(place: Place): Promise<Run> {
  const run = await createRun({ config: {}, prompt: 'Do it.', sandboxPath: join(place.path, 'run') })
  await run.transition('running')
  const output = { stream: 'stdout', text: 'one line of what a program says\n'.repeat(12) }
  for (let number = 0; number < 50_000; number += 1)
    await run.append({ type: 'output', summary: 'The program said something.', data: output }, { durability: 'D2' })
  await run.transition('completed')
  await run.close()
  return run
}

/** Both sandboxes have the same mounts and live in this process; one of them belongs to a run. */
async function recordBench(): Promise<Result> {
  using place = openPlace()
  const mounts = ['workspace', 'deliverables'].map((name) => ({
    guestPath: `/${name}`,
    hostPath: place.directory(`bare/${name}`),
  }))
  await using bare = await Sandbox.create({ mounts })
  let times: Readonly<Record<'recorded' | 'bare', Figures>> | undefined
  const { record } = await runs.start({
    prompt: 'Be quick.',
    sandboxPath: join(place.path, 'run'),
    executor: {
      name: 'bench',
      async execute({ sandbox }): Promise<Outcome> {
        const exec = async (where: Pick<Sandbox, 'commands'>): Promise<void> => {
          const { exitCode, stderr } = await where.commands.run(['/bin/true'])
          if (exitCode !== 0) throw new Error(`the command ended with ${exitCode}: ${stderr}`)
        }
        times = await interleave({ recorded: () => exec(sandbox), bare: () => exec(bare) }, 100, 5)
        return { status: 'completed', summary: 'It was quick.' }
      },
    },
  })
  if (times === undefined || record.status !== 'completed') throw new Error(`the run is ${record.status}`)
  return atMost({
    name: 'recorded exec − bare exec',
    promise: '≤ 2 ms',
    measured: round(times.recorded.medianMs - times.bare.medianMs),
    limit: 2,
    unit: 'ms',
    figures: times,
  })
}
