// Where bwrap finds what lies behind each mount: the launcher's staged copy when root started us; else an open descriptor, or,
// with a bwrap that knows no descriptors, the host path.
import { openSync, statSync } from 'node:fs'
import type { Mount } from '../../contract/mount.ts'
import type { SandboxSpec } from '../../contract/backend.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { HostFiles } from '../../paths/host-files.ts'
import { closingOnce } from '../../process/closing-once.ts'
import type { Source } from './compile.ts'
import type { HostFacts } from './facts.ts'
import { descriptors as carried } from './gate.ts'
import type { Launcher } from './launcher/launcher.ts'

const openPath = 0o10000000

export interface Sources {
  readonly home: Source
  readonly searchProgram: Source
  of(mount: Mount): Source
  /** The same place as a path, for what lies below it. */
  readonly pathOf: (mount: Mount) => string
  /** A further host path, for covers and vault names. */
  readonly further: (hostPath: string) => Promise<string>
  /** To be passed on to bwrap from `first` on. */
  readonly descriptors: readonly number[]
  release(): Promise<void>
}

export interface SourceParts {
  readonly spec: SandboxSpec
  /** What is bound in place of a mount's own host path. */
  readonly behind: ReadonlyMap<Mount, string>
  readonly facts: HostFacts
  readonly files: HostFiles
  readonly launcher: Launcher
  /** Where bwrap finds what is laid already. */
  readonly staged: (hostPath: string) => string | undefined
}

export async function openSources(parts: SourceParts): Promise<Sources> {
  const { stage } = parts.launcher
  return stage === undefined ? plainSources(parts) : stagedSources(parts, stage)
}

function plainSources({ spec, behind, facts, files }: SourceParts): Sources {
  const byPath = (hostPath: string): Source => ({ path: hostPath })
  const base = {
    searchProgram: byPath(facts.searchProgram),
    pathOf: (mount: Mount) => mount.hostPath,
    further: (hostPath: string) => Promise.resolve(hostPath),
  }
  if (!facts.bindsByDescriptor) {
    return {
      ...base,
      home: byPath(spec.home.hostPath),
      of: (mount) => byPath(behind.get(mount) ?? mount.hostPath),
      descriptors: [],
      release: () => Promise.resolve(),
    }
  }
  // SECURITY: by descriptor, so that the path cannot be aimed elsewhere between the check and the mount (CVE-2024-42472).
  // test/attacks/files: "a mount's host path swapped for a link after creation is not followed"
  const home = openSync(spec.home.hostPath, openPath)
  const closeHome = closingOnce(home)
  const roots = [home, ...spec.mounts.map((mount) => files.rootDescriptor(mount))]
  return {
    ...base,
    home: { descriptor: carried.first },
    of(mount) {
      const shown = behind.get(mount)
      return shown === undefined ? { descriptor: carried.first + 1 + spec.mounts.indexOf(mount) } : byPath(shown)
    },
    descriptors: roots,
    release: async () => closeHome(),
  }
}

async function stagedSources(parts: SourceParts, stage: NonNullable<Launcher['stage']>): Promise<Sources> {
  const { spec, behind, facts, launcher } = parts
  const staged: string[] = []
  const put = async (hostPath: string): Promise<string> => {
    const laid = parts.staged(hostPath)
    if (laid !== undefined) return laid
    const seen = statSync(hostPath)
    try {
      const target = await stage({
        hostPath,
        device: seen.dev,
        inode: seen.ino,
        ownerUid: seen.uid,
        ownerGid: seen.gid,
      })
      staged.push(target)
      return target
    } catch (error) {
      throw cannotStage(hostPath, error)
    }
  }
  const release = async (): Promise<void> => {
    await Promise.all(staged.splice(0).map((target) => launcher.unstage(target)))
  }
  try {
    const wanted = [
      spec.home.hostPath,
      facts.searchProgram,
      ...spec.mounts.map((one) => behind.get(one) ?? one.hostPath),
    ]
    // All at once: whoever lays them is woken once, and not once for each. Each is awaited, so that all that was laid is released.
    const laid = (await Promise.allSettled(wanted.map(put))).map((each) => {
      if (each.status === 'rejected') throw each.reason
      return each.value
    })
    const [home, searchProgram, ...mounts] = laid as [string, string, ...string[]]
    const pathOf = (mount: Mount): string => mounts[spec.mounts.indexOf(mount)] as string
    return {
      home: { path: home },
      searchProgram: { path: searchProgram },
      of: (mount) => ({ path: pathOf(mount) }),
      pathOf,
      further: put,
      descriptors: [],
      release,
    }
  } catch (error) {
    await release()
    throw error
  }
}

const cannotStage = (hostPath: string, cause: unknown): GloveboxError =>
  new GloveboxError('BOUNDARY_FAILED', 'Cannot make the sandbox: a mount cannot be handed to an unprivileged id', {
    hint: 'As root, mounts must lie on a filesystem that supports id-mapped mounts (ext4, xfs, btrfs, overlayfs, tmpfs on a recent kernel). Else run Glovebox as the ordinary user who owns the directory.',
    operatorDetail: `${hostPath}: ${cause instanceof Error ? cause.message : String(cause)}`,
    cause,
  })
