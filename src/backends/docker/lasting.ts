// One command in a container of its own that goes on when we die. A shell beside it, on the host and out of the guest's reach,
// outlives us too: it holds the pipes, keeps the head of each output in a file, drains the rest, and writes down how the command
// ended: by the word of the container's first process, or else with what docker ended. A later process reads on where an earlier one
// stopped. Where the shell is gone, or docker lost its hold on the container and with it the output, nobody can know the end, and it
// is said to be lost; what still runs of it is ended.
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Plan, SandboxSpec } from '../../contract/backend.ts'
import { isSandboxId, type SandboxId } from '../../contract/ids.ts'
import type { LastingCommands, LastingRequest } from '../../contract/lasting.ts'
import type { HostPath, Mount } from '../../contract/mount.ts'
import { openProtection } from '../../guards/protection.ts'
import { sweepPlaceholders } from '../../guards/placeholders.ts'
import { GloveboxError } from '../../errors/error.ts'
import { withCatalog } from '../../paths/catalog-mount.ts'
import { openHostFiles } from '../../paths/host-files.ts'
import { removeTree } from '../../paths/remove-tree.ts'
import { identityOf, isAlive, ownIdentity, type ProcessIdentity } from '../../process/identity.ts'
import { nameOfDirectory } from '../../process/installation.ts'
import { runArguments, type Guest } from './compile.ts'
import type { Containers } from './containers.ts'
import type { DockerFacts } from './facts.ts'
import { chooseGuest } from './guest.ts'
import type { Endings } from './ending.ts'
import { endHolder } from './holder.ts'
import { holdingArguments, holdingScript, idIn, isToldIn, pipesIn, wordsLine, type Held } from './holding.ts'
import { factsFor } from './image.ts'
import { besideLines } from './keeper.ts'
import { onceCommand, onceLines, onceMark, ownPipesPlace } from './once.ts'
import { openLayout, type Laid } from './layout.ts'
import { commandAt, type Begun } from './lasting-command.ts'
import { killsOnHost } from './late-memory.ts'
import { mountOperand } from './operands.ts'
import type { WatchedDocker } from './watched.ts'

export interface LastingParts {
  /** As they are now: the image may be another one than at first. */
  readonly facts: () => DockerFacts
  readonly docker: WatchedDocker
  readonly containers: Containers
  readonly endings: Endings
  readonly stateDir: HostPath
  /**
   * Where the commands' spools lie. Servers that take over from each other have the same one, also where each has a state directory of its
   * own; and those that know nothing of each other's commands have not, also where they share one.
   */
  readonly place: HostPath
}

export function openLasting(given: LastingParts): LastingCommands {
  const { docker, containers, endings, stateDir, place: root } = given
  const at = (id: SandboxId, begun: Begun) => commandAt({ docker, endings, stateDir, place: join(root, id) }, id, begun)
  // A pipe is one only for processes under the same kernel, and gVisor's is another.
  const hasOwnPipes = given.facts().showsInodes

  const start: LastingCommands['start'] = async (id, plan, request) => {
    docker.refuseIfAway()
    const facts = factsFor(plan, given.facts())
    const place = join(root, id)
    mkdirSync(place, { recursive: true, mode: 0o700 })
    mkdirSync(pipesIn(place))
    chmodSync(pipesIn(place), 0o755)
    const { holder, shell } = startHolder(place, { ...request, hasOwnPipes })
    const begun: Begun = {
      name: `glovebox-${id}`,
      shell,
      uptimeMs: uptime() * 1000,
      begunAtMs: Date.now(),
      owner: ownIdentity(),
      stateDir,
      hasOwnPipes,
      killsBefore: facts.isHere ? killsOnHost() : undefined,
    }
    try {
      // Before anything is waited for: whoever takes us for dead meanwhile must see that there is a shell that can still be told something.
      writeFileSync(join(place, 'begun.json'), JSON.stringify(begun), { mode: 0o600 })
      const { spec, laid, guest } = await lay({ facts, stateDir }, { id, plan, place, owner: begun.shell, request })
      const labels = { ...containers.labels(id), lasting: nameOfDirectory(root) }
      const words = onceArguments(
        runArguments(spec, facts, {
          name: begun.name,
          idFile: idIn(place),
          labels,
          guest,
          bounds: laid.bounds,
          title: '',
          searches: false,
        }),
        { place, hasOwnPipes },
      )
      const lines = hasOwnPipes ? onceLines(spec.env, request, laid.inodes) : besideLines(onceMark, spec.env, request)
      request.onBeginning?.()
      holder.stdin.end(`${wordsLine(words)}${lines}`)
      return at(id, begun)
    } catch (error) {
      // Without a word it has started nothing; but it may still be making its pipes.
      await endHolder(shell)
      holder.stdin.destroy()
      await sweepPlaceholders(stateDir)
      await removeTree(place)
      throw error
    }
  }

  const startHolder = (place: string, held: Held) => {
    const holder = docker.cli.startAside(holdingScript(held), holdingArguments(place, held))
    try {
      return { holder, shell: identityOf(holder.pid) }
    } catch (error) {
      // It ends with its input, and has been told nothing.
      holder.stdin.destroy()
      throw error
    }
  }

  return {
    start,
    find: async (id) => {
      const place = join(root, id)
      if (!existsSync(place)) return undefined
      const begun = readBegun(place)
      if (begun !== undefined && (await wasTold(place, begun))) return at(id, begun)
      return isUnbegun(place, begun) ? 'unbegun' : undefined
    },
    async sweep(keep) {
      // Its name is made with the first spool.
      if (!existsSync(root)) return
      const listed = await containers.listLasting(nameOfDirectory(root))
      const places = readdirSync(root).filter(isSandboxId)
      const kept = await keep()
      const doomed = listed.filter(({ orphaned, ours, sandbox }) => (orphaned || ours) && !kept.has(sandbox))
      const areGone = await containers.remove(...doomed.map(({ name }) => name))
      const faults: unknown[] = areGone ? [] : [notRemoved()]
      // What runs in one that is there has its HOME in its place.
      const there = new Set(listed.filter((each) => !areGone || !doomed.includes(each)).map(({ sandbox }) => sandbox))
      for (const name of places) {
        if (kept.has(name) || there.has(name) || isInUse(join(root, name))) continue
        // One that stays must not keep the others.
        await removeTree(join(root, name)).catch((error: unknown) => faults.push(error))
      }
      await sweepPlaceholders(stateDir)
      if (faults.length > 0) throw faults[0]
    },
  }
}

const notRemoved = (): GloveboxError =>
  new GloveboxError(
    'BACKEND_UNAVAILABLE',
    'Cannot take away what is left: the Docker daemon has not removed its containers',
    {
      hint: '`docker info` tells whether it answers. It is tried again.',
    },
  )

interface Laying {
  readonly id: SandboxId
  readonly plan: Plan
  readonly place: string
  readonly owner: ProcessIdentity
  readonly request: LastingRequest
}

/** HOME lies with the spool, and the stand-ins for protected names belong to the shell: both go on without us. */
async function lay(
  { facts, stateDir }: { readonly facts: DockerFacts; readonly stateDir: HostPath },
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
function onceArguments(
  args: readonly string[],
  { place, hasOwnPipes }: { readonly place: string; readonly hasOwnPipes: boolean },
): readonly string[] {
  const image = args.indexOf('--') + 1
  // Read-only: a pipe can be written there all the same, and nothing can be made beside it.
  const bound = ['type=bind', `source=${pipesIn(place)}`, `target=${ownPipesPlace}`, 'readonly']
  const [verb = 'run', ...flags] = args.slice(0, image - 1).filter((word) => word !== '--rm')
  const more = hasOwnPipes ? ['--mount', mountOperand(bound)] : []
  return [verb, ...more, ...flags, '--', args[image] ?? '', ...onceCommand({ hasOwnPipes })]
}

/** A shell that was told nothing ends with the one that could have told it, and has begun nothing. */
async function wasTold(place: string, { shell }: Begun): Promise<boolean> {
  const until = performance.now() + 5000
  const isTold = (): boolean => existsSync(isToldIn(place))
  while (!isTold() && isAlive(shell) && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 10))
  return isTold() || isAlive(shell)
}

/**
 * By one that lives: the shell writes there, or its server has yet to read what is written. We know what we use ourselves. No exec that is
 * open names it, so that what was told nothing until now never will be.
 */
function isInUse(place: string): boolean {
  const begun = existsSync(isToldIn(place)) ? readBegun(place) : undefined
  if (begun === undefined) return false
  return isAlive(begun.shell) || (isAlive(begun.owner) && !isDeepStrictEqual(begun.owner, ownIdentity()))
}

/**
 * What nobody was told has not begun. Nothing of the spool is synced, though: behind a power cut anything may be missing that was there, and
 * of what lay there before it nothing is certain.
 */
function isUnbegun(place: string, begun: Begun | undefined): boolean {
  if (begun !== undefined) return begun.shell.bootId === ownIdentity().bootId
  const bootedMs = Date.now() - uptime() * 1000
  return !existsSync(isToldIn(place)) && !existsSync(idIn(place)) && statSync(place).mtimeMs > bootedMs
}

function readBegun(place: string): Begun | undefined {
  try {
    return JSON.parse(readFileSync(join(place, 'begun.json'), 'utf8')) as Begun
  } catch {
    return undefined
  }
}
