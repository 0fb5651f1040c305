// One command in a container of its own that goes on when we die. A shell beside it, on the host and out of the guest's reach,
// outlives us too: it holds docker's end of the pipes, keeps the head of each output in a file, drains the rest, and writes down
// with what docker ended. A later process reads on where an earlier one stopped. Where the shell is gone, or docker lost its hold
// on the container, nobody can know the end, and it is said to be lost.
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { uptime } from 'node:os'
import { join } from 'node:path'
import type { Plan, SandboxSpec } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { LastingCommand, LastingCommands, LastingRequest } from '../../contract/lasting.ts'
import type { HostPath, Mount } from '../../contract/mount.ts'
import { openProtection } from '../../guards/protection.ts'
import { sweepPlaceholders } from '../../guards/placeholders.ts'
import { withCatalog } from '../../paths/catalog-mount.ts'
import { openHostFiles } from '../../paths/host-files.ts'
import { identityOf, isAlive, type ProcessIdentity } from '../../process/identity.ts'
import type { DockerCli } from './cli.ts'
import { runArguments, type Guest } from './compile.ts'
import { exitOfContainer } from './container-exit.ts'
import type { Containers } from './containers.ts'
import type { DockerFacts } from './facts.ts'
import { chooseGuest } from './guest.ts'
import { besideLines, onceCommand } from './keeper.ts'
import { openLayout, type Laid } from './layout.ts'
import { followSpool } from './spool.ts'

export interface LastingParts {
  readonly facts: DockerFacts
  readonly cli: DockerCli
  readonly containers: Containers
  readonly stateDir: HostPath
}

/** What a later process must know. */
interface Begun {
  readonly name: string
  readonly shell: ProcessIdentity
  readonly uptimeMs: number
}

const rootOf = (stateDir: string): string => join(stateDir, 'docker', 'lasting')

/**
 * `$0` is docker. The words of its command line come first on the input, and then three lines for the container. Whoever writes them
 * may be killed in the middle: nothing is begun before all of them are there, since half a command would end as one that failed.
 */
const holdingScript = [
  "line_break='\n'",
  'out=$1; err=$2; dir=$3',
  'IFS= read -r words && IFS= read -r mark && IFS= read -r variables && IFS= read -r request || exit 0',
  ': >"$dir/told" || exit 0',
  'eval "set -- $words"',
  // Not `head`, which holds back what it has until it is much. The kernel ends the first `cat` at the limit.
  'keep() { (ulimit -c 0; ulimit -f "$1"; exec cat >"$2"); cat >/dev/null; }',
  // Built in, so that no other process sees a value among its arguments.
  'tell() { printf "%s\\n" "$mark" "$variables" "$request" 2>/dev/null; }',
  'run() { tell 3>&- | "$0" "$@" 3>&-; echo $? >"$dir/code"; }',
  '{ run "$@" 2>&1 1>&3 | keep "$err" "$dir/stderr"; } 3>&1 | keep "$out" "$dir/stdout"',
  'mv "$dir/code" "$dir/status"',
].join('\n')

/** One byte beyond the limit, at least, tells that there was more. Some shells count in kilobytes, and keep twice as much. */
const blocksFor = (bytes: number): string => String(Math.ceil((bytes + 1) / 512))

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`).replaceAll('\n', `'"$line_break"'`)}'`

export function openLasting(parts: LastingParts): LastingCommands {
  const { cli, containers, stateDir } = parts
  const root = rootOf(stateDir)

  const start: LastingCommands['start'] = async (id, plan, request) => {
    const place = join(root, id)
    mkdirSync(place, { recursive: true, mode: 0o700 })
    const holder = cli.startAside(holdingScript, [
      blocksFor(request.maxStdoutBytes),
      blocksFor(request.maxStderrBytes),
      place,
    ])
    const begun: Begun = { name: `glovebox-${id}`, shell: identityOf(holder.pid), uptimeMs: uptime() * 1000 }
    try {
      const { spec, laid, guest } = await lay(parts, { id, plan, place, owner: begun.shell, request })
      const labels = { ...containers.labels(id), lasting: '1' }
      const words = onceArguments(
        runArguments(spec, parts.facts, { name: begun.name, labels, guest, bounds: laid.bounds, title: '' }),
      )
      writeFileSync(join(place, 'begun.json'), JSON.stringify(begun), { mode: 0o600 })
      const lines = besideLines('glovebox', spec.env, request)
      holder.stdin.end(`${words.map(quote).join(' ')}\n${lines}`)
      return commandAt(parts, place, begun)
    } catch (error) {
      // Without a word it ends, and has started nothing.
      holder.stdin.destroy()
      await sweepPlaceholders(stateDir)
      rmSync(place, { recursive: true, force: true })
      throw error
    }
  }

  return {
    start,
    find: async (id) => {
      const place = join(root, id)
      const begun = readBegun(place)
      if (begun === undefined) return existsSync(place) ? 'unbegun' : undefined
      return (await wasTold(place, begun)) ? commandAt(parts, place, begun) : 'unbegun'
    },
    async sweep(keep) {
      const listed = (await containers.list()).filter(({ lasting, orphaned, ours }) => lasting && (orphaned || ours))
      const places = existsSync(root) ? readdirSync(root) : []
      const kept = await keep()
      await containers.remove(...listed.filter(({ sandbox }) => !kept.has(sandbox)).map(({ name }) => name))
      for (const name of places) {
        const begun = readBegun(join(root, name))
        if (kept.has(name) || (begun !== undefined && isAlive(begun.shell))) continue
        rmSync(join(root, name), { recursive: true, force: true })
      }
      await sweepPlaceholders(stateDir)
    },
  }
}

interface Laying {
  readonly id: SandboxId
  readonly plan: Plan
  readonly place: string
  readonly owner: ProcessIdentity
  readonly request: LastingRequest
}

/** HOME lies with the spool, and the stand-ins for protected names belong to the shell: both go on without us. */
async function lay(
  { facts, stateDir }: LastingParts,
  { id, plan, place, owner, request }: Laying,
): Promise<{ readonly spec: SandboxSpec; readonly laid: Laid; readonly guest: Guest }> {
  const home = makeHome(place)
  const spec: SandboxSpec = { ...withCatalog(plan.spec), home: { ...plan.spec.home, hostPath: home } }
  const guest = chooseGuest(spec, { operator: facts.operator, stateDir })
  const homeMount: Mount = { ...spec.home, mode: 'rw' }
  const lockDir = join(stateDir, 'locks') as HostPath
  const files = openHostFiles({
    mounts: [...spec.mounts, homeMount],
    protect: spec.policy.protect,
    denyRead: spec.policy.denyRead,
    lockDir,
    namesArePinned: true,
  })
  try {
    await files.list(request.cwd, { limit: 1 })
    const protection = await openProtection({ id, stateDir, spec, files, owner, onDisk: () => undefined })
    const scratch = join(place, 'covers')
    mkdirSync(scratch)
    const layOut = await openLayout({ spec, protection, files, scratch, readOnlyIsDeep: facts.readOnlyIsDeep })
    const laid = await layOut()
    if (facts.operator.uid === 0)
      for (const each of ['', 'tmp', '.cache']) chownSync(join(home, each), guest.uid, guest.gid)
    return { spec, laid, guest }
  } finally {
    files.close()
  }
}

function makeHome(place: string): HostPath {
  const home = join(place, 'home')
  for (const each of ['tmp', '.cache']) mkdirSync(join(home, each), { recursive: true })
  return home as HostPath
}

/** The same walls and limits, for a container that is asked how it ended before it is removed. */
function onceArguments(args: readonly string[]): readonly string[] {
  const image = args.indexOf('--') + 1
  return [...args.slice(0, image + 1).filter((word) => word !== '--rm'), ...onceCommand]
}

/** A shell that was told nothing ends with the one that could have told it, and has begun nothing. */
async function wasTold(place: string, { shell }: Begun): Promise<boolean> {
  const until = performance.now() + 5000
  const isTold = (): boolean => existsSync(join(place, 'told'))
  while (!isTold() && isAlive(shell) && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 10))
  return isTold() || isAlive(shell)
}

/** SECURITY: what was handed on has been redacted, and this has not. Its length stays: it tells whoever comes after us how much there was.
 * test/attacks/vault-records: "a value that a command printed or kept is in no record of its exec" */
function blank(path: string): void {
  if (!existsSync(path)) return
  const { size } = statSync(path)
  truncateSync(path, 0)
  truncateSync(path, size)
}

function readBegun(place: string): Begun | undefined {
  try {
    return JSON.parse(readFileSync(join(place, 'begun.json'), 'utf8')) as Begun
  } catch {
    return undefined
  }
}

function commandAt(
  { cli, containers, stateDir }: LastingParts,
  place: string,
  { name, shell, uptimeMs }: Begun,
): LastingCommand {
  let isKilled = false
  let hasExited = false
  const kill = (): void => {
    isKilled = true
    void removeSoon()
  }
  /** One that is just being made is not there yet, and would be in a moment. */
  const removeSoon = async (): Promise<void> => {
    const until = performance.now() + 10_000
    while (isAlive(shell) && performance.now() < until) {
      await containers.remove(name)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  return {
    elapsedMs: () => uptime() * 1000 - uptimeMs,
    kill,
    async follow(options) {
      const ended = await followSpool(place, options, () => isAlive(shell))
      if (isKilled) return { signal: 'SIGKILL' }
      if (ended === undefined) return { lost: 'the shell that held its pipes is gone' }
      const said = (): string => readFileSync(join(place, 'stderr'), 'utf8')
      const exit = await exitOfContainer(cli, name, { code: ended, said })
      hasExited = exit.code !== undefined || exit.signal !== undefined
      return exit
    },
    async close() {
      // One that has exited is asked again by whoever comes after us, if we die before its end is written down.
      if (!hasExited) await containers.remove(name)
      const until = performance.now() + 5000
      while (isAlive(shell) && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 20))
      for (const output of ['stdout', 'stderr']) blank(join(place, output))
      await sweepPlaceholders(stateDir)
    },
    async forget() {
      await containers.remove(name)
      rmSync(place, { recursive: true, force: true })
    },
  }
}
