// A live boundary: one bwrap per command, all of them alike.
import { closeSync, openSync } from 'node:fs'
import type { Boundary, Process, SandboxSpec, SpawnRequest } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { HostFiles } from '../../paths/host-files.ts'
import { planAdmission } from './admit.ts'
import {
  boundaryArguments,
  environmentArguments,
  gateLimits,
  guestSearchProgram,
  type Guard,
  type Mask,
} from './compile.ts'
import type { HostFacts } from './facts.ts'
import { gateCommand, descriptors } from './gate.ts'
import type { Launcher } from './launcher/launcher.ts'
import type { LimitGroup } from './limits/limits.ts'
import { followBwrap } from './process.ts'
import type { Sources } from './sources.ts'

// bwrap itself refuses more than 9000 words; told here, before anything starts.
const mostArguments = 8500

export interface BoundaryParts {
  readonly id: SandboxId
  readonly spec: SandboxSpec
  readonly facts: HostFacts
  readonly files: HostFiles
  readonly launcher: Launcher
  readonly sources: Sources
  readonly limitGroup: LimitGroup | undefined
  /** A descriptor of the filter's bytes; opened again for each command, since reading moves its position. */
  readonly filterDescriptor: number
  readonly masks: readonly Mask[]
  readonly shell: string
  /** The name of every gate of this process: the warden's token. */
  readonly title: string
  /** Looked at before every command. */
  guards(): Promise<readonly Guard[]>
}

export interface LiveBoundary extends Boundary {
  /** Ends every command and settles when all are gone. */
  endAll(): Promise<void>
}

export function liveBoundary(parts: BoundaryParts): LiveBoundary {
  const { spec, facts, sources } = parts
  const running = new Set<Process>()
  const admission = planAdmission(parts.limitGroup, descriptors.first + sources.descriptors.length)
  let laid: { readonly guards: readonly Guard[]; readonly words: readonly string[] } | undefined
  let memoryKills = 0
  const starting = new Set<Promise<Process>>()
  let ending = false
  const refuseIfEnding = (): void => {
    if (ending) throw new GloveboxError('SANDBOX_GONE', 'Cannot run the command: the sandbox has been killed')
  }

  const boundaryWords = async (): Promise<readonly string[]> => {
    const guards = await parts.guards()
    if (laid?.guards !== guards) {
      const mounts = spec.mounts.map((mount) => ({ mount, source: sources.of(mount) }))
      laid = { guards, words: boundaryArguments(spec, facts, { ...sources, mounts, guards, masks: parts.masks }) }
    }
    return laid.words
  }
  const tookMemory = async (): Promise<boolean> => {
    const before = memoryKills
    memoryKills = (await parts.limitGroup?.oomKills()) ?? 0
    return memoryKills > before
  }

  const start = async (request: SpawnRequest): Promise<Process> => {
    refuseIfEnding()
    const env = { ...spec.env, ...request.env }
    const words = [...(await boundaryWords()), ...environmentArguments(env), '--chdir', request.cwd]
    if (words.length > mostArguments) throw tooMany()
    refuseIfEnding()
    const filter = openSync(`/proc/self/fd/${parts.filterDescriptor}`, 'r')
    const child = await parts.launcher
      .launch({
        file: facts.bwrapPath,
        args: [
          '--args',
          String(descriptors.arguments),
          '--',
          ...gateCommand({
            ...gateLimits(spec, facts),
            entries: admission.entries,
            names: Object.keys(env),
            title: parts.title,
          }),
          ...request.argv,
        ],
        stdin: request.stdin,
        extraDescriptors: [
          // Not on the command line, where anyone could read the environment.
          { holds: Buffer.from(words.map((word) => `${word}\0`).join('')) },
          filter,
          // SECURITY: bwrap's child waits for a sign from bwrap that comes after this report; were bwrap to end by SIGPIPE,
          // because the host was killed, it would wait for ever.
          // test/attacks/processes: "a host that is killed as a command starts leaves nothing running"
          'reportFromChild',
          'toChild',
          ...sources.descriptors,
          ...admission.descriptors,
        ],
      })
      .finally(() => closeSync(filter))
    const process = followBwrap(child, {
      admit: (pid) => admission.admit(pid),
      tookMemory,
    })
    running.add(process)
    void process.exit.then(() => running.delete(process))
    return process
  }

  return {
    id: parts.id,
    files: parts.files,
    searchProgram: guestSearchProgram,
    shell: parts.shell,
    spawn(request) {
      const started = start(request)
      starting.add(started)
      const forget = (): void => void starting.delete(started)
      started.then(forget, forget)
      return started
    },
    async endAll() {
      // A command that is just being started must not slip in behind the end, when its descriptors are somebody else's.
      ending = true
      await Promise.allSettled(starting)
      const all = [...running]
      for (const process of all) process.kill()
      await Promise.all(all.map((process) => process.exit))
    },
  }
}

const tooMany = (): GloveboxError =>
  new GloveboxError(
    'TOO_LARGE',
    'Cannot run the command: the sandbox has more mounts, names and variables than bubblewrap takes',
    {
      hint: 'Mount fewer, larger directories, or pass fewer variables.',
    },
  )
