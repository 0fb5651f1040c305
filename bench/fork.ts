// What a fork costs, and that it does not grow with the workspace: 2 GB, 2 MB and 20,000 files, in turn within one run. What
// counts is the whole: from the request until the new run outlives a power cut.
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createRun } from '../src/runs/run.ts'
import { forkRun } from '../src/runtime/runs/fork.ts'
import { interleave, round } from './interleave.ts'
import { openPlace, type Place } from './place.ts'
import { atMost, type Result } from './result.ts'

const megabyte = 1_000_000
const rounds = 31

export async function forkBenches(): Promise<readonly Result[]> {
  using place = openPlace()
  const before = process.env['GLOVEBOX_STATE_DIR']
  process.env['GLOVEBOX_STATE_DIR'] = place.directory('state')
  try {
    return await measure(place)
  } finally {
    if (before === undefined) delete process.env['GLOVEBOX_STATE_DIR']
    else process.env['GLOVEBOX_STATE_DIR'] = before
  }
}

async function measure(place: Place): Promise<readonly Result[]> {
  await endedRun(place, 'large', (workspace) => fill(workspace, 2000))
  await endedRun(place, 'small', (workspace) => fill(workspace, 2))
  await endedRun(place, 'many', () => void place.tree('runs/many/workspace', 20_000))
  const methods = new Set<string>()
  const fork = (name: string) => async (): Promise<void> => {
    const made = await forkRun({ directory: join(place.path, 'runs', name) })
    methods.add(made.fork.by)
    rmSync(made.directory, { recursive: true })
  }
  const times = await interleave({ large: fork('large'), small: fork('small'), many: fork('many') }, rounds)
  const figures = { ...times, by: [...methods] }
  return [
    atMost({
      name: 'fork of a workspace of 2 GB',
      promise: '≤ 100 ms',
      measured: times.large.medianMs,
      limit: 100,
      unit: 'ms',
      figures,
    }),
    ...(['large', 'many'] as const).map((name) =>
      atMost({
        name: `fork of ${name === 'large' ? '2 GB' : '20,000 files'} ÷ fork of 2 MB`,
        promise: '≤ 1.5 ×',
        measured: round(times[name].medianMs / times.small.medianMs),
        limit: 1.5,
        unit: 'ratio',
        figures,
      }),
    ),
  ]
}

/** Its contents need no hash here, only to be there. */
async function endedRun(place: Place, name: string, make: (workspace: string) => void): Promise<void> {
  const directory = join(place.path, 'runs', name)
  const artifactLimits = { max_entries: 10, max_depth: 10, max_bytes: 10 }
  await using run = await createRun({ config: {}, prompt: 'x', sandboxPath: directory, runId: name, artifactLimits })
  make(join(directory, 'workspace'))
  await run.transition('running')
  await run.transition('completed')
}

function fill(workspace: string, megabytes: number): void {
  const bytes = randomBytes(megabyte)
  for (let file = 0; file < Math.min(20, megabytes); file += 1) {
    const fd = openSync(join(workspace, `file-${file}`), 'wx')
    try {
      for (let part = 0; part < megabytes / Math.min(20, megabytes); part += 1) writeSync(fd, bytes)
    } finally {
      closeSync(fd)
    }
  }
}
