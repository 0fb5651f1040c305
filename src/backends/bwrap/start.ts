// Starts one bwrap of a sandbox: its options on a descriptor, its filter, its reports, and the gate before whatever is to run.
import { closeSync, openSync } from 'node:fs'
import type { SandboxSpec } from '../../contract/backend.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { SpawnedChild } from '../../process/spawn.ts'
import type { StandardInput } from '../../process/wiring.ts'
import type { Admission } from './admit.ts'
import { gateLimits } from './compile.ts'
import type { HostFacts } from './facts.ts'
import { descriptors, gateCommand } from './gate.ts'
import type { Launcher } from './launcher/launcher.ts'
import type { Sources } from './sources.ts'

// bwrap itself refuses more than 9000 words; told here, before anything starts.
const mostArguments = 8500

export interface StarterParts {
  readonly spec: SandboxSpec
  readonly facts: HostFacts
  readonly launcher: Launcher
  readonly sources: Pick<Sources, 'descriptors'>
  readonly admission: Admission
  readonly filterDescriptor: number
  readonly title: string
}

export interface Start {
  readonly words: readonly string[]
  readonly stdin: StandardInput
  /** Default: the gate before a single command. */
  readonly script?: string
  readonly names: readonly string[]
  readonly command: readonly string[]
  /** Files that bwrap is given to read, at descriptors from `firstFree` on. */
  readonly reads?: readonly string[]
  /** What bwrap reads from the descriptors behind those. */
  readonly holds?: readonly Uint8Array[]
}

export const firstFree = ({ sources, admission }: Pick<StarterParts, 'sources' | 'admission'>): number =>
  descriptors.first + sources.descriptors.length + admission.descriptors.length

export async function startBwrap(parts: StarterParts, start: Start): Promise<SpawnedChild> {
  const { spec, facts, sources, admission, title } = parts
  const { words, stdin, script, names, command } = start
  if (words.length > mostArguments) throw tooMany()
  const opened: number[] = []
  // Opened anew each time, since reading moves the position.
  const open = (path: string): number => {
    const descriptor = openSync(path, 'r')
    opened.push(descriptor)
    return descriptor
  }
  const gate = { ...gateLimits(spec, facts), entries: admission.entries, names, title }
  try {
    return await parts.launcher.launch({
      file: facts.bwrapPath,
      args: [
        '--args',
        String(descriptors.arguments),
        '--',
        ...gateCommand(script === undefined ? gate : { ...gate, script }),
        ...command,
      ],
      stdin,
      extraDescriptors: [
        // Not on the command line, where anyone could read the environment.
        { holds: Buffer.from(words.map((word) => `${word}\0`).join('')) },
        open(`/proc/self/fd/${parts.filterDescriptor}`),
        // SECURITY: bwrap's child waits for a sign from bwrap that comes after this report; were bwrap to end by SIGPIPE,
        // because the host was killed, it would wait for ever.
        // test/attacks/processes: "a host that is killed as a command starts leaves nothing running"
        'reportFromChild',
        'toChild',
        ...sources.descriptors,
        ...admission.descriptors,
        ...(start.reads ?? []).map(open),
        ...(start.holds ?? []).map((holds) => ({ holds })),
      ],
    })
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
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
