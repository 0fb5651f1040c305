// A place of its own for a host process that is going to be harmed: the built package, a workspace and a state directory,
// all belonging to whoever starts it. Root's and an ordinary user's look alike from here.
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkout, copyPackage, otherUser } from '../fixtures/package-copy.ts'

export type Starter = 'root' | 'user'

const isRoot = process.getuid?.() === 0
/** Both when the tests run as root, who alone can become somebody else. */
export const starters: readonly Starter[] = isRoot ? ['root', 'user'] : ['user']

export interface FaultGround {
  readonly starter: Starter
  /** Unlike any other path of the machine, so that what mentions it is ours. */
  readonly directory: string
  readonly stateDir: string
  /** A new directory of the starter's. */
  makeDirectory(name: string): string
  /** Starts a program of test/faults/hosts, as leader of a session of its own. */
  startHost(program: string, args: readonly string[], options?: StartOptions): ChildProcess
  /** Starts the real command line in this directory. */
  startCli(args: readonly string[], options: StartOptions & { readonly cwd: string }): ChildProcess
  remove(): void
}

export interface StartOptions {
  readonly cwd?: string
  readonly stdio?: StdioOptions
  /** Words that stand before the interpreter, for example a tracer and its options. */
  readonly under?: readonly string[]
  /** Beside PATH, HOME and the state directory. */
  readonly env?: Readonly<Record<string, string>>
}

// One process, one copy: vitest and the campaigns both give a file a process of its own.
const prefix = 'glovebox-harmed-'
const packageDirectory = join(tmpdir(), `${prefix}${process.pid}`)
process.once('exit', () => rmSync(packageDirectory, { recursive: true, force: true }))

/** vitest ends its workers without a farewell. */
function removeCopiesOfTheDead(): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(prefix) || existsSync(`/proc/${name.slice(prefix.length)}`)) continue
    rmSync(join(tmpdir(), name), { recursive: true, force: true })
  }
}

function harmedPackage(): string {
  if (existsSync(join(packageDirectory, 'bin'))) return packageDirectory
  removeCopiesOfTheDead()
  mkdirSync(packageDirectory, { mode: 0o700 })
  copyPackage(packageDirectory)
  const hosts = join(checkout, 'test/faults/hosts')
  for (const name of readdirSync(hosts)) copyFileSync(join(hosts, name), join(packageDirectory, name))
  cpSync(join(checkout, 'bin'), join(packageDirectory, 'bin'), { recursive: true })
  chmodSync(packageDirectory, 0o755)
  return packageDirectory
}

export function faultGround(starter: Starter): FaultGround {
  const place = harmedPackage()
  const directory = mkdtempSync(join(tmpdir(), 'glovebox-fault-'))
  const id = isRoot && starter === 'user' ? otherUser : undefined
  const makeDirectory = (name: string): string => {
    const path = join(directory, name)
    mkdirSync(path, { mode: 0o700 })
    if (id !== undefined) chownSync(path, id, id)
    return path
  }
  chmodSync(directory, 0o755)
  const stateDir = makeDirectory('state')
  const HOME = makeDirectory('home')
  const start = (file: string, args: readonly string[], options: StartOptions): ChildProcess => {
    const [program = '', ...rest] = [...(options.under ?? []), process.execPath, join(place, file), ...args]
    return spawn(program, rest, {
      cwd: options.cwd ?? directory,
      env: { ...options.env, PATH: '/usr/local/bin:/usr/bin:/bin', HOME, GLOVEBOX_STATE_DIR: stateDir },
      stdio: options.stdio ?? ['ignore', 'pipe', 'pipe'],
      detached: true,
      ...(id === undefined ? {} : { uid: id, gid: id }),
    })
  }
  return {
    starter,
    directory,
    stateDir,
    makeDirectory,
    startHost: (program, args, options = {}) => start(program, args, options),
    startCli: (args, options) => start('bin/glovebox', args, options),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}
