// Power cuts. A writer works on an ext4 filesystem whose disk remembers every write, every flush and every answer in one
// order (hosts/power-disk.mjs). From that record any number of cuts are made afterwards, each with its own choice of what
// the disk had not yet kept, and what is found then is held against what had been answered (hosts/power-audit.mjs).
// Everything is mounted inside `unshare -m`, and nothing of it can be seen from outside.
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const host = (name: string): string => fileURLToPath(new URL(`./hosts/${name}.mjs`, import.meta.url))
const dist = fileURLToPath(new URL('../../dist', import.meta.url))
const diskBytes = 48 * 1024 * 1024

/** Why no power can be cut here, with these programs too; undefined if it can. */
export function whyNoPowerCut(...more: readonly string[]): string | undefined {
  if (process.platform !== 'linux') return 'only Linux has ext4 and loop devices'
  if (process.getuid?.() !== 0) return 'only root may mount a loop device'
  for (const device of ['/dev/fuse', '/dev/loop-control']) if (!existsSync(device)) return `there is no ${device}`
  for (const tool of ['mkfs.ext4', 'losetup', ...more])
    if (spawnSync(tool, ['-V']).error !== undefined) return `there is no ${tool}`
  return spawnSync('unshare', ['-m', 'true']).status === 0 ? undefined : 'no mount namespace can be made'
}

export interface PowerCutOptions {
  readonly seed: number
  /** How long the writer works: so long, and until it has had so many answers. */
  readonly ms: number
  readonly leastAnswers?: number
  readonly cuts: number
  /** `forgetful`: the writer skips fdatasync. `lying`: the disk forgets what it was told to keep. */
  readonly manner: 'honest' | 'forgetful' | 'lying'
  /** What is written. Default: runs, with their audit. */
  readonly work?: keyof typeof programs
  /** Whoever looks is of another boot, as after a true power cut. A server listens for half a minute then whether the one before it lives. */
  readonly bootsAnew?: boolean
}

/** Who writes, and who looks at what was left. */
const programs = {
  runs: { writer: 'power-writer.mjs', audit: './power-audit.mjs' },
  execs: { writer: 'power-exec-writer.mjs', audit: './power-exec-audit.mjs' },
} as const

/** One cut, as hosts/power-auditor.mjs tells it. */
interface Cut {
  readonly cut: number
  readonly unflushed: number
  readonly kept: number
  readonly answers: number
  readonly faults: readonly string[]
  readonly runs?: number
  readonly lostLazy?: number
  readonly flagged?: number
  readonly repaired?: number
}

export interface PowerCutReport {
  readonly cuts: number
  /** Summed over the cuts: what had been answered before each. */
  readonly answers: number
  /** Or execs, that were there. */
  readonly runs: number
  /** Cuts at which the disk held something that it had not been told to keep. */
  readonly unflushed: number
  /** Progress (D2) of the last second that was lost, in runs that say that they were cut off. */
  readonly lostLazy: number
  /** Findings about files of actions (D2) in such runs. */
  readonly flagged: number
  /** Logs whose torn end was put aside. */
  readonly repaired: number
  readonly faults: readonly string[]
}

export async function cutPower(options: PowerCutOptions): Promise<PowerCutReport> {
  const { seed, ms, leastAnswers = 0, cuts, manner, work = 'runs', bootsAnew = false } = options
  const { writer, audit } = programs[work]
  const place = mkdtempSync(join(tmpdir(), 'glovebox-power-'))
  try {
    const image = join(place, 'image')
    writeFileSync(image, '')
    truncateSync(image, diskBytes)
    await run('mkfs.ext4', ['-q', '-F', '-b', '4096', '-J', 'size=4', image])
    await inNamespace(
      [host('power-recorder'), dist, place, String(seed), manner, String(ms), String(leastAnswers), writer],
      ms + 60_000,
    )
    const told = await inNamespace(
      [host('power-auditor'), dist, place, String(seed), String(cuts), audit, manner, bootsAnew ? 'anew' : 'same'],
      60_000 + cuts * (bootsAnew ? 90_000 : 10_000),
    )
    const lines = told.trimEnd().split('\n')
    return summary(lines.map((line) => JSON.parse(line) as Cut))
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

async function inNamespace(argv: readonly string[], timeout: number): Promise<string> {
  const options = { timeout, maxBuffer: 256 * 1024 * 1024 }
  return (await run('unshare', ['-m', process.execPath, ...argv], options)).stdout
}

function summary(cuts: readonly Cut[]): PowerCutReport {
  const sum = (value: (cut: Cut) => number | undefined): number => cuts.reduce((all, cut) => all + (value(cut) ?? 0), 0)
  return {
    cuts: cuts.length,
    answers: sum(({ answers }) => answers),
    runs: sum(({ runs }) => runs),
    unflushed: sum(({ unflushed }) => (unflushed > 0 ? 1 : 0)),
    lostLazy: sum(({ lostLazy }) => lostLazy),
    flagged: sum(({ flagged }) => flagged),
    repaired: sum(({ repaired }) => repaired),
    faults: cuts.flatMap(({ cut, faults }) => faults.map((fault) => `cut at ${cut}: ${fault}`)),
  }
}
