// From what a run's sandbox was to the sandbox that repeats it. Nothing is let in only because a record names it: a host
// directory is mounted again, and a backend that isolates nothing is used, only when the operator says so.
import { lstatSync, realpathSync } from 'node:fs'
import { isAbsolute, resolve, sep } from 'node:path'
import type { SandboxManifest } from '../../../contract/artifact.ts'
import type { BackendName } from '../../../contract/backend.ts'
import type { PolicyLayer } from '../../../contract/policy.ts'
import { GloveboxError } from '../../../errors/error.ts'
import type { MountRequest } from '../../mount-text.ts'
import { policyAgain } from './policy.ts'

/** What the one who replays allows. */
export interface Allowed {
  readonly layers: readonly PolicyLayer[]
  /** Of the settings: these may be mounted again. */
  readonly mounts: readonly MountRequest[]
  readonly asRecorded: boolean
  /** Asked for by name. */
  readonly backend?: BackendName | undefined
}

export interface SandboxAgain {
  readonly backend: BackendName
  readonly layers: readonly PolicyLayer[]
  /** Beside those that every run has. */
  readonly mounts: readonly MountRequest[]
  readonly cwd: string
  readonly remarks: readonly string[]
}

type RecordedMount = SandboxManifest['mounts'][number]

export function sandboxAgain(manifest: SandboxManifest, directory: string, allowed: Allowed): SandboxAgain {
  if (manifest.backend === null || manifest.cwd === null)
    throw refuse('it never had a sandbox', 'Nothing was done in it.')
  const policy = policyAgain(manifest.policy, allowed)
  const extra = manifest.mounts.filter(({ host_path: hostPath }) => isAbsolute(hostPath))
  const backend = chooseBackend(manifest.backend, allowed)
  return {
    backend,
    layers: policy.layers,
    mounts: extra.map((mount) => mountAgain(mount, directory, allowed)),
    cwd: manifest.cwd,
    remarks: [
      ...(backend === manifest.backend ? [] : [`the backend is ${backend}, and was ${manifest.backend}`]),
      ...policy.remarks,
      ...extra.map(({ guest_path: path }) => `${path} is a directory of the host, and is used as it is now`),
    ],
  }
}

// SECURITY: as with a settings file, a file alone must not switch isolation off.
// src/runtime/runs/replay/request: "a record cannot choose a backend that isolates nothing"
function chooseBackend(recorded: string, { backend }: Allowed): BackendName {
  if (backend !== undefined) return backend
  if (recorded !== 'local') return recorded
  throw refuse(
    'it ran on the backend local, which isolates nothing',
    'If its commands may run on this host itself, say --backend local. Else choose one that isolates: --backend bwrap.',
  )
}

// SECURITY: a copied run directory cannot have the operator's files mounted by naming them.
// src/runtime/runs/replay/request: "a host directory is mounted again only with the operator's word"
function mountAgain(mount: RecordedMount, directory: string, { mounts, asRecorded }: Allowed): MountRequest {
  const { guest_path: guestPath, host_path: hostPath, mode } = mount
  const isKnown = mounts.some(
    (own) => own.guestPath === guestPath && (own.mode ?? 'rw') === mode && realOf(own.hostPath) === hostPath,
  )
  if (!isKnown && !asRecorded) {
    throw new GloveboxError(
      'POLICY_ESCALATION',
      `Cannot replay the run: it had a directory of the host at ${guestPath}`,
      {
        hint: 'Name the mount in glovebox.yaml; or, if you trust whoever recorded the run, say --as-recorded.',
        operatorDetail: `${guestPath}=${hostPath}:${mode}`,
      },
    )
  }
  if (lstatSync(hostPath, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new GloveboxError('NOT_FOUND', `Cannot replay the run: the host directory behind ${guestPath} is gone`, {
      hint: 'Put it back where it was, or replay on the host that has it.',
      operatorDetail: hostPath,
    })
  }
  if (mode === 'rw') refuseReaching(guestPath, hostPath, directory)
  return { guestPath, hostPath, mode }
}

/** Through a writable mount the guest could write to the original. */
function refuseReaching(guestPath: string, hostPath: string, directory: string): void {
  const original = realpathSync(directory)
  const reaches = [`${hostPath}${sep}`, `${original}${sep}`]
  const [mount = '', run = ''] = reaches
  if (!mount.startsWith(run) && !run.startsWith(mount)) return
  throw refuse(
    `through its writable mount ${guestPath} it could change the original`,
    'Copy the run directory to a place outside that mount, and replay the copy.',
  )
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync(resolve(path))
  } catch {
    return undefined
  }
}

const refuse = (cause: string, hint: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot replay the run: ${cause}`, { hint })
