// The symlink swap: somebody inside flips a directory and a file between the real thing and a link to a
// secret outside, as fast as they can, while the host reads and writes by path. It needs no sandbox: two
// temporary directories and a process that renames are the whole of the attack. `naive` checks the real
// path and then opens it, as most file APIs do; it is the control that shows that the race can be won.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isGloveboxError } from '../../src/errors/error.ts'
import { bytes, guest, secret, temporaryMounts, type TemporaryMounts } from '../fixtures/temporary-mounts.ts'

export interface RaceOptions {
  readonly tries: number
  readonly naive: boolean
  /** End at the first leak: for the control, which has made its point then. */
  readonly untilLeak?: boolean
}

export interface RaceResult {
  readonly tries: number
  /** Secrets that were read, and writes that arrived outside. */
  readonly leaks: number
  /** Tries that gave the content that is really inside. */
  readonly reads: number
  readonly writes: number
  readonly refusals: number
}

// One write syncs to disk and costs as much as many reads.
const readsPerWrite = 20

// The links are made anew each time: a write that replaces one, as it may, must not end the attack.
const swapper = `
  const { renameSync, rmSync, symlinkSync, writeSync } = require('node:fs')
  const [inside, outside] = process.argv.slice(1)
  process.chdir(inside)
  const flip = (name, target) => {
    rmSync('link', { force: true })
    symlinkSync(target, 'link')
    renameSync(name, name + '.real')
    renameSync('link', name)
    renameSync(name, 'link')
    renameSync(name + '.real', name)
  }
  writeSync(1, 'ready')
  for (;;) { flip('dir', outside); flip('file', outside + '/secret.txt') }
`

export async function symlinkRace(options: RaceOptions): Promise<RaceResult> {
  const ground = temporaryMounts()
  layBait(ground)
  const child = spawn(process.execPath, ['-e', swapper, ground.inside, ground.outside], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await once(child.stdout, 'data')
    const attempt = options.naive ? naiveAttempt(ground) : containedAttempt(ground)
    const result = await run(options, ground, attempt)
    // A swapper that died would let every try pass.
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('the swapper ended before the race did')
    return result
  } finally {
    await end(child)
    ground.remove()
  }
}

function layBait({ inside, outside }: TemporaryMounts): void {
  mkdirSync(join(inside, 'dir'))
  for (const name of ['file', 'dir/file']) writeFileSync(join(inside, name), 'inside')
  writeFileSync(join(outside, 'file'), secret)
}

interface Attempt {
  read(name: string): Promise<string>
  write(name: string, text: string): Promise<void>
}

function containedAttempt(ground: TemporaryMounts): Attempt {
  const files = ground.open()
  return {
    read: async (name) =>
      Buffer.from((await files.read(guest(`/workspace/${name}`), { maxBytes: 1000 })).bytes).toString(),
    write: async (name, text) => void (await files.write(guest(`/workspace/${name}`), bytes(text), { parents: false })),
  }
}

function naiveAttempt({ inside }: TemporaryMounts): Attempt {
  const checked = (name: string, parent: string): string => {
    const path = join(inside, name)
    if (!realpathSync(join(inside, parent)).startsWith(`${realpathSync(inside)}/`)) throw new NaiveRefusal()
    return path
  }
  return {
    read: async (name) => readFileSync(checked(name, name), 'utf8'),
    write: async (name, text) => writeFileSync(checked(name, name.includes('/') ? 'dir' : name), text),
  }
}

class NaiveRefusal extends Error {}

async function run(options: RaceOptions, ground: TemporaryMounts, attempt: Attempt): Promise<RaceResult> {
  const counts = { tries: 0, leaks: 0, reads: 0, writes: 0, refusals: 0 }
  while (counts.tries < options.tries && !(options.untilLeak && counts.leaks > 0)) {
    const name = counts.tries % 2 === 0 ? 'dir/file' : 'file'
    try {
      if (counts.tries % readsPerWrite === readsPerWrite - 1) {
        await attempt.write(counts.tries % (2 * readsPerWrite) < readsPerWrite ? 'dir/new' : name, 'inside')
        counts.writes++
        counts.leaks += writesOutside(ground)
      } else if ((await attempt.read(name)) === secret) counts.leaks++
      else counts.reads++
    } catch (error) {
      if (!isRefusal(error)) throw error
      counts.refusals++
    }
    counts.tries++
  }
  counts.leaks += writesOutside(ground)
  return counts
}

/** Mends what it counts, so that one write counts once. */
function writesOutside({ outside }: TemporaryMounts): number {
  const changed = ['file', 'secret.txt'].filter((name) => readFileSync(join(outside, name), 'utf8') !== secret)
  for (const name of changed) writeFileSync(join(outside, name), secret)
  const added = readdirSync(outside).filter((name) => name !== 'file' && name !== 'secret.txt')
  return changed.length + added.length
}

const expectedCodes = new Set(['NOT_FOUND', 'LINK_REFUSED', 'NOT_A_DIRECTORY', 'BUSY'])

/** Ours must be one that fits the race; the naive control stumbles over the swap in ways of its own. */
function isRefusal(error: unknown): boolean {
  if (isGloveboxError(error)) return expectedCodes.has(error.code)
  return error instanceof NaiveRefusal || (error instanceof Error && 'syscall' in error)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
