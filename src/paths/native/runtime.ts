// On what kind of host the server runs, as far as paths are concerned. Pure: what there is to know of the host is handed in.
import { GloveboxError } from '../../errors/error.ts'

export const runtimeNames = ['auto', 'windows', 'wsl', 'linux', 'macos'] as const
export type RuntimeName = (typeof runtimeNames)[number]
export type Runtime = Exclude<RuntimeName, 'auto'>

export interface HostFacts {
  /** As `process.platform`. */
  readonly platform: string
  /** As `os.release()`: a kernel made for WSL has Microsoft's name in it. */
  readonly release: string
  /** Windows programs can be started from here. A container on such a kernel has the name and not this. */
  readonly interop: boolean
}

const platforms: Readonly<Record<Runtime, string>> = {
  windows: 'win32',
  wsl: 'linux',
  linux: 'linux',
  macos: 'darwin',
}

export function detectRuntime(asked: RuntimeName, facts: HostFacts): Runtime {
  if (asked === 'auto') return detected(facts)
  if (platforms[asked] === facts.platform) return asked
  throw new GloveboxError('INVALID_SETTINGS', `Cannot use the runtime "${asked}": this host is not one`, {
    hint: 'Leave the runtime at "auto", or name the one that the server runs on.',
    facts: { asked, platform: facts.platform },
  })
}

function detected({ platform, release, interop }: HostFacts): Runtime {
  if (platform === 'win32') return 'windows'
  if (platform === 'darwin') return 'macos'
  if (platform === 'linux') return /microsoft/i.test(release) && interop ? 'wsl' : 'linux'
  throw new GloveboxError('INVALID_SETTINGS', `Cannot tell the runtime: "${platform}" is none that is known`, {
    hint: `Known are: ${runtimeNames.slice(1).join(', ')}.`,
  })
}
