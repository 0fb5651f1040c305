// Sandboxes for execs of the API: made for one command, with a HOME that ends with it, and taken away when it has ended.
import type { Backend, BackendName } from '../../contract/backend.ts'
import type { PolicyLayer, PolicyValues } from '../../contract/policy.ts'
import type { SandboxId } from '../../contract/ids.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import { GloveboxError, isGloveboxError } from '../../errors/error.ts'
import type { SecretUse } from '../../contract/vault.ts'
import type { Boundaries, BoundaryRequest, CheckedSecrets, Prepared } from '../../execs/boundaries.ts'
import { checkEnvironment } from '../../policy/environment.ts'
import { builtInProtectedNames, findBuiltInProtection } from '../../policy/protect.ts'
import { resolvePolicy } from '../../policy/resolve.ts'
import { openRedaction, type LearningRedaction } from '../../vaults/redaction/redaction.ts'
import { readUse } from '../../vaults/names.ts'
import { discardPlanned, planSandbox, type Planned } from '../create.ts'
import { asHostFault } from '../host-fault.ts'
import { liveSandbox } from '../sandbox.ts'
import type { VaultRequests } from '../secrets.ts'
import { releasedAfter, type BackendInUse } from './images.ts'
import { isThere } from './kept-backend.ts'
import { findLasting, preparedLasting } from './lasting-execs.ts'

export interface ExecBoundariesOptions {
  readonly backend: BackendName
  /** As it is now: one that was not there may have come. */
  readonly open: () => Promise<Backend>
  /** Of the operator: what every request is measured by. */
  readonly layers: readonly PolicyLayer[]
  readonly env: Readonly<Record<string, string>>
  readonly vaults?: VaultRequests | undefined
  /** Absent: the backend has no images. */
  readonly useImage?: (image: string) => Promise<BackendInUse>
}

/**
 * The directories of an exec are the guest's own: no project of the operator's is in them, whose tools would run what they find
 * under these names, and `git init` must work there. The operator's settings come later, and may protect names again.
 */
const guestsOwn: PolicyLayer = {
  layer: 'settings',
  source: 'exec API',
  values: { unprotect: builtInProtectedNames.filter((name) => findBuiltInProtection(name)?.essential !== true) },
}

/** What no operator can give up. */
export const essentialNames = builtInProtectedNames.flatMap((name) => {
  const known = findBuiltInProtection(name)
  return known?.essential === true ? [{ name, kind: known.kind, content: known.content }] : []
})

export function execBoundaries(options: ExecBoundariesOptions): Boundaries {
  const { backend, open, layers, env, vaults = {}, useImage } = options
  // One for all: execs of a project see each other's files.
  const redaction = openRedaction()
  const layersFor = (values: PolicyValues): readonly PolicyLayer[] => [
    guestsOwn,
    ...layers,
    { layer: 'request', source: 'policy_overrides', values },
  ]
  return {
    backend,
    resolve: (values) => resolvePolicy(layersFor(values)),
    checkEnvironment,
    redaction,
    checkSecrets,
    checkImage: (image) => checkImage(backend, useImage, image),
    async prepare(request) {
      const prepareOn = async (chosen: Backend): Promise<Prepared> => {
        const planned = await plan(chosen, layersFor(request.values), { ...request, base: env, vaults, redaction })
        // SECURITY: a lasting command's output lies on disk as it was said, before anybody has looked at it.
        // test/attacks/vault-records: "a value that a command printed or kept is in no record of its exec"
        return chosen.lasting === undefined || request.secrets.length > 0
          ? prepared(planned, request)
          : preparedLasting(planned, chosen.lasting, request)
      }
      if (request.image === null) return prepareOn(await open())
      // Another server took the request.
      if (useImage === undefined) throw hasNoImages(backend)
      const { backend: chosen, release } = await useImage(request.image)
      try {
        return releasedAfter(await prepareOn(chosen), release)
      } catch (error) {
        await release()
        throw error
      }
    },
    async findAgain(boundaryId, limits) {
      const { lasting } = await open()
      return lasting === undefined ? undefined : findLasting(lasting, boundaryId, { ...limits, redaction })
    },
    sweep: async (keep) => (await open()).lasting?.sweep(keep),
    destroy: async (boundaryId) => (await open()).destroy(boundaryId as SandboxId),
  }
}

function checkSecrets(uses: readonly SecretUse[]): CheckedSecrets {
  const asked = uses.map(readUse)
  return {
    names: [...new Set(asked.map(({ name }) => name))],
    variables: asked.flatMap(({ as }) => ('env' in as ? [as.env] : [])),
  }
}

const refuse = (cause: string, hint: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot use the image: ${cause}`, { hint, facts: { fields: ['image'] } })

const hasNoImages = (backend: BackendName): GloveboxError =>
  refuse(`the backend ${backend} has none`, 'Leave out "image", or run the server with the backend docker.')

async function checkImage(name: BackendName, use: ExecBoundariesOptions['useImage'], image: string): Promise<void> {
  if (use === undefined) throw hasNoImages(name)
  const { backend, release } = await use(image).catch((error: unknown) => {
    // The same words, of a request and not of the settings.
    if (isGloveboxError(error) && error.code === 'INVALID_SETTINGS')
      throw refuse('that is not the name of a Docker image', error.hint ?? 'Write it as docker does.')
    throw error
  })
  try {
    if (isThere(backend) && backend.isGone?.() !== true) return
    const { available, reason, fix } = await backend.probe()
    if (!available) throw refuse(reason ?? 'it cannot be used', fix ?? 'Name an image that this host has.')
  } finally {
    await release()
  }
}

interface Planning extends BoundaryRequest {
  readonly vaults: VaultRequests
  readonly redaction: LearningRedaction
  readonly base: Readonly<Record<string, string>>
}

async function plan(backend: Backend, layers: readonly PolicyLayer[], request: Planning): Promise<Planned> {
  try {
    return await planSandbox({
      backend,
      layers,
      mounts: request.mounts.map(({ guest_path, host_path, mode }) => ({
        guestPath: guest_path,
        hostPath: host_path,
        mode,
      })),
      env: request.base,
      vaults: request.vaults,
      redaction: request.redaction,
      cwd: '/workspace/work',
      home: 'scratch',
      // One command, which may outlive this process: nobody would keep it current.
      catalog: 'none',
    })
  } catch (error) {
    throw asHostFault(error, 'make the sandbox')
  }
}

function prepared(planned: Planned, { argv, cwd, env, secrets }: BoundaryRequest): Prepared {
  let sandbox: Sandbox | undefined
  let isDiscarded = false
  const discard = async (): Promise<void> => {
    if (isDiscarded) return
    isDiscarded = true
    await discardPlanned(planned)
  }
  return {
    boundaryId: planned.id,
    image: planned.plan.image ?? null,
    policy: planned.resolved.effective,
    async run({ onStdout, onStderr, signal, onBeginning }) {
      if (signal.aborted)
        throw new GloveboxError('CANCELLED', 'Cannot run the command: it was cancelled before it began')
      sandbox = await make(planned, discard)
      onBeginning()
      const { ended } = await sandbox.commands.run(argv, {
        cwd,
        env,
        secrets,
        onStdout,
        onStderr,
        lentChunks: true,
        signal,
        keepBytes: 0,
      })
      return ended
    },
    async close() {
      await sandbox?.kill()
      await discard()
    },
  }
}

async function make(planned: Planned, onEnd: () => Promise<void>): Promise<Sandbox> {
  try {
    const boundary = await planned.backend.create(planned.id, planned.plan)
    return liveSandbox({ ...planned, boundary, onEnd })
  } catch (error) {
    throw asHostFault(error, 'make the sandbox')
  }
}
