// Names the backends, and is the only file that does. Each is loaded when it is asked for and not before, so that nobody
// pays for a mechanism that is not used. Promises the backend of that name or an error, never another in its place.
// Must not know what a backend can hold: that is its own to say, and policy's to compare.
import type { Backend, BackendName } from '../contract/backend.ts'
import type { HostPath } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { suggest } from '../errors/suggest.ts'

export interface BackendOptions {
  /** Where a backend keeps its journals; out of every guest's reach. */
  readonly stateDir: HostPath
  /** The program that searches files, on the host. */
  readonly searchProgram: HostPath
  /** The process does nothing else but serve this backend, as the command line does. */
  readonly ownsProcess?: boolean
  /** For docker alone: where commands are kept that go on without this process. Default: in the state directory. */
  readonly lastingDir?: HostPath | undefined
  /** For docker alone: the image, and the container runtime. */
  readonly docker?: { readonly image?: string | undefined; readonly runtime?: string | undefined }
  /** For programs of the operator's that a backend drives, and that read their own settings from it. No guest's. */
  readonly operatorEnv?: Readonly<Record<string, string | undefined>>
}

const loaders = {
  bwrap: () => import('./bwrap/backend.ts'),
  docker: () => import('./docker/backend.ts'),
  local: () => import('./local/backend.ts'),
} as const satisfies Record<string, () => Promise<{ openBackend(options: BackendOptions): Promise<Backend> }>>

export const backendNames = Object.keys(loaders) as readonly (keyof typeof loaders)[]

const isKnown = (name: string): name is keyof typeof loaders => Object.hasOwn(loaders, name)

export async function openBackend(name: BackendName, options: BackendOptions): Promise<Backend> {
  if (!isKnown(name)) {
    const near = suggest(name, backendNames)
    throw new GloveboxError('UNKNOWN_BACKEND', `Cannot use backend '${name}': there is no such backend`, {
      hint: near === undefined ? `Backends: ${backendNames.join(', ')}.` : `Did you mean '${near}'?`,
    })
  }
  return (await loaders[name]()).openBackend(options)
}
