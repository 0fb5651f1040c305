// Searching inside a sandbox against the search program alone on the same files.
import { spawn } from 'node:child_process'
import { Sandbox } from '../src/index.ts'
import { findSearchProgram } from '../src/runtime/search-program.ts'
import { interleave, round, type Contestant } from './interleave.ts'
import { openPlace } from './place.ts'
import { atMost, type Result } from './result.ts'

export async function searchBenches(): Promise<readonly Result[]> {
  using place = openPlace()
  const files = place.tree('files', 20_000)
  // rg uses every core, so the sandbox is given as many as the bare one has.
  await using sandbox = await Sandbox.create({
    mounts: [{ guestPath: '/workspace', hostPath: files }],
    settings: process.getuid?.() === 0 ? { cpuCores: 4 } : {},
  })
  const rg =
    (...args: readonly string[]): Contestant =>
    () =>
      new Promise((resolve, reject) => {
        const child = spawn(findSearchProgram(), args, { cwd: files, stdio: ['ignore', 'pipe', 'inherit'] })
        child.stdout.resume()
        child.once('error', reject)
        child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`rg ended with ${code}`))))
      })
  const grep = await interleave(
    {
      ours: async () => expectFound((await sandbox.files.grep('needle')).matches.length, 4),
      rg: rg('--json', '--hidden', '--no-ignore', '-e', 'needle', '.'),
    },
    25,
  )
  const glob = await interleave(
    {
      ours: async () => expectFound((await sandbox.files.glob('**/*1.txt', { maxResults: 1000 })).paths.length, 1000),
      rg: rg('--files', '--hidden', '--no-ignore', '-g', '**/*1.txt', '.'),
    },
    25,
  )
  return [compare('grep over 20,000 files ÷ rg', 1.3, grep), compare('glob over 20,000 files ÷ rg --files', 1.5, glob)]
}

function expectFound(found: number, wanted: number): void {
  if (found !== wanted) throw new Error(`found ${found}, not ${wanted}`)
}

const compare = (name: string, limit: number, times: Readonly<Record<'ours' | 'rg', { medianMs: number }>>): Result =>
  atMost({
    name,
    promise: `≤ ${limit}`,
    measured: round(times.ours.medianMs / times.rg.medianMs),
    limit,
    unit: 'ratio',
    figures: times,
  })
