// Mounts with lower layers, laid before anything else of a sandbox is made. From then on the rest of the boundary knows only
// the whole that is seen: the spec that it gets names a descriptor of it where the directory of changes stood, and so does the
// agent's home if it lies inside. Changing a layer behind the back of overlayfs has no defined outcome.
import { closeSync, statSync } from 'node:fs'
import type { SandboxSpec } from '../../contract/backend.ts'
import type { HostPath, Mount } from '../../contract/mount.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { OnDisk } from '../../guards/rule.ts'
import type { Launcher } from './launcher/launcher.ts'
import type { LaidLayers, PinnedDirectory } from './launcher/messages.ts'

export interface Layers {
  readonly spec: SandboxSpec
  /** Where bwrap finds a path of this spec; undefined for what is not layered. */
  readonly staged: (hostPath: string) => string | undefined
  /** Undefined for a mount without layers. */
  readonly onDisk: (mount: Mount) => OnDisk | undefined
  release(): Promise<void>
}

export async function openLayers(spec: SandboxSpec, launcher: Launcher): Promise<Layers> {
  if (spec.mounts.every(({ over }) => over === undefined)) return noLayers(spec)
  refuseOverlap(spec)
  const laid: Laid[] = []
  const release = async (): Promise<void> => {
    for (const { layers } of laid.splice(0)) {
      closeSync(layers.descriptor)
      await launcher.unstage(layers.target)
    }
  }
  try {
    const seen = new Map<Mount, Mount>()
    for (const mount of spec.mounts.filter(({ over }) => over !== undefined)) {
      const each = await layMount(mount, launcher)
      laid.push(each)
      seen.set(mount, each.mount)
    }
    const mounts = spec.mounts.map((mount) => seen.get(mount) ?? mount)
    return {
      spec: { ...spec, mounts, home: { ...spec.home, hostPath: through(laid, spec.home.hostPath) } },
      staged: (hostPath) => {
        const found = laid.find(({ mount }) => isBelow(hostPath, mount.hostPath))
        return found && found.layers.target + hostPath.slice(found.mount.hostPath.length)
      },
      onDisk: (mount) => laid.find((each) => each.mount === mount)?.onDisk,
      release,
    }
  } catch (error) {
    await release()
    throw error
  }
}

export async function tryLayers(mount: Mount, launcher: Launcher): Promise<void> {
  const { layers } = await layMount(mount, launcher)
  closeSync(layers.descriptor)
  await launcher.unstage(layers.target)
}

const noLayers = (spec: SandboxSpec): Layers => ({
  spec,
  staged: () => undefined,
  onDisk: () => undefined,
  release: () => Promise.resolve(),
})

interface Laid {
  readonly mount: Mount
  readonly layers: LaidLayers
  readonly onDisk: OnDisk
}

async function layMount({ guestPath, hostPath, mode, over }: Mount, launcher: Launcher): Promise<Laid> {
  const { layer } = launcher
  if (over === undefined || layer === undefined) throw cannotLay(guestPath, 'this launcher lays no layers')
  const { uid, gid, dev } = statSync(hostPath)
  try {
    const layers = await layer({
      upper: pinned(hostPath),
      work: over.work,
      lower: over.lower.map(pinned),
      ownerUid: uid,
      ownerGid: gid,
    })
    const seenAt = `/proc/self/fd/${layers.descriptor}` as HostPath
    return { mount: { guestPath, mode, hostPath: seenAt }, layers, onDisk: { hostPath, device: String(dev) } }
  } catch (error) {
    throw cannotLay(guestPath, error)
  }
}

function pinned(hostPath: string): PinnedDirectory {
  const { dev, ino } = statSync(hostPath)
  return { hostPath, device: dev, inode: ino }
}

const isBelow = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`)

/** A path below a directory of changes, as it is seen through the whole. */
function through(laid: readonly Laid[], hostPath: HostPath): HostPath {
  const found = laid.find(({ onDisk }) => isBelow(hostPath, onDisk.hostPath))
  return found === undefined
    ? hostPath
    : ((found.mount.hostPath + hostPath.slice(found.onDisk.hostPath.length)) as HostPath)
}

/** SECURITY: a second mount that shows a layer, or the kernel's work directory, would be a way to write into it.
 * test/attacks/layers: "a second mount that shows a layer is refused" */
function refuseOverlap({ mounts }: SandboxSpec): void {
  for (const { hostPath, over } of mounts) {
    if (over === undefined) continue
    const layers = [hostPath, over.work, ...over.lower]
    const other = mounts.find(
      (mount) =>
        mount.hostPath !== hostPath &&
        layers.some((layer) => isBelow(layer, mount.hostPath) || isBelow(mount.hostPath, layer)),
    )
    if (other === undefined && mounts.filter((mount) => mount.hostPath === hostPath).length === 1) continue
    throw new GloveboxError(
      'INVALID_INPUT',
      `Cannot mount ${(other ?? { guestPath: 'it twice' }).guestPath}: it would show a layer of another mount`,
      { hint: 'Mount a directory that holds no run, or only what is needed of it.' },
    )
  }
}

const cannotLay = (guestPath: string, cause: unknown): GloveboxError =>
  new GloveboxError('BOUNDARY_FAILED', `Cannot make the sandbox: the layers of ${guestPath} cannot be laid here`, {
    hint: 'Fork the run with --copy, which needs no layers; or, as root, keep both runs on one file system that overlayfs can write (ext4, xfs, btrfs, tmpfs).',
    operatorDetail: cause instanceof Error ? cause.message : String(cause),
  })
