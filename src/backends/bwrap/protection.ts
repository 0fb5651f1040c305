// The protected names of a sandbox, laid when it is made and looked at before each exec. See guards.ts for what is laid, and
// placeholders.ts for what is put on the host where a name is missing.
import type { SandboxSpec } from '../../contract/backend.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { Mount } from '../../contract/mount.ts'
import type { HostFiles } from '../../paths/host-files.ts'
import { findBuiltInProtection } from '../../policy/protect.ts'
import type { Guard } from './compile.ts'
import { guardsFor, stillHeld, type HeldName } from './guards.ts'
import { nestedRepositories } from './nested-repositories.ts'
import { layPlaceholders, liftPlaceholders, type ProtectedName } from './placeholders.ts'

export interface Protection {
  /** The same array as before while nothing has changed on the host. */
  guards(): Promise<readonly Guard[]>
  lift(): Promise<void>
}

export interface ProtectionParts {
  readonly id: SandboxId
  readonly stateDir: string
  readonly spec: SandboxSpec
  readonly files: HostFiles
  readonly pathOf: (mount: Mount) => string
}

const repositoryNames = ['.git/hooks', '.git/config'] as const

export async function openProtection({ id, stateDir, spec, files, pathOf }: ProtectionParts): Promise<Protection> {
  const writable = spec.mounts.filter((mount) => mount.mode === 'rw')
  const names = new Map(writable.map((mount) => [mount, namesIn(mount, spec.policy.protect)]))
  let held: readonly HeldName[] = []
  let guards: readonly Guard[] | undefined

  const lay = async (): Promise<readonly Guard[]> => {
    const roots = writable.map((mount) => ({
      descriptor: files.rootDescriptor(mount),
      hostPath: mount.hostPath,
      names: names.get(mount) ?? [],
    }))
    const placed = await layPlaceholders({ sandboxId: id, stateDir, roots })
    held = placed.flatMap(({ hostPath, maskedName, kind }) =>
      writable.filter((mount) => mount.hostPath === hostPath).map((mount) => ({ mount, name: maskedName, kind })),
    )
    return guardsFor(held, pathOf)
  }
  guards = await lay()
  return {
    async guards() {
      if (guards === undefined || !stillHeld(held)) guards = await lay()
      return guards
    },
    lift: async () => void (await liftPlaceholders(id, stateDir)),
  }
}

function namesIn(mount: Mount, protect: readonly string[]): readonly ProtectedName[] {
  const guarded = repositoryNames.filter((name) => protect.includes(name))
  const nested = guarded.length === 0 ? [] : nestedRepositories(mount.hostPath)
  return [...protect, ...nested.flatMap((directory) => guarded.map((name) => `${directory}/${name}`))].map((name) => ({
    name,
    kind: findBuiltInProtection(name)?.kind ?? (name.endsWith('/.git/hooks') ? 'directory' : 'file'),
  }))
}
