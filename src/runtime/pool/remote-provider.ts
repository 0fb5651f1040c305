// A provider whose sandboxes are kept by a Glovebox server: `provisioner_url`.
import type { SandboxId } from '../../contract/ids.ts'
import type { Provider } from '../../contract/provider.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import { idOfKey } from '../../pool/ids.ts'
import { remoteFrom } from '../remote.ts'

export async function openRemoteProvider(url: string): Promise<Provider> {
  const remote = remoteFrom({ server: url }, '.')
  if (remote === undefined) throw new GloveboxError('INTERNAL', 'Cannot use the server: it has no address')
  const { connect } = await import('../../client/index.ts')
  const { sandboxes } = connect(remote)
  const active = new Map<string, Sandbox>()
  let isClosed = false

  return {
    async acquire(key, { request, signal } = {}) {
      if (isClosed) throw new GloveboxError('DRAINING', 'Cannot acquire a sandbox: the provider was shut down')
      // The parts of a key may hold anything; its id here is of one form, and as good a name.
      const named = key === undefined ? {} : { key: idOfKey(key) }
      const { backend, policy, env, cwd } = request ?? {}
      const sandbox = await sandboxes.create({
        ...named,
        ...(backend === undefined ? {} : { backend }),
        ...(policy === undefined ? {} : { policy }),
        ...(env === undefined ? {} : { env }),
        ...(cwd === undefined ? {} : { cwd }),
        ...(signal === undefined ? {} : { signal }),
      })
      active.set(sandbox.id, sandbox)
      return sandbox.id
    },
    get: (id) => active.get(id),
    async release(id) {
      if (active.delete(id)) await sandboxes.release(id).catch(ifGone)
    },
    async destroy(id) {
      const sandbox = active.get(id) ?? (await sandboxes.connect(id).catch(ifGone))
      active.delete(id)
      await sandbox?.kill()
    },
    async reset() {
      active.clear()
    },
    async shutdown() {
      isClosed = true
      const ids = [...active.keys()] as readonly SandboxId[]
      active.clear()
      await Promise.allSettled(ids.map((id) => sandboxes.release(id)))
    },
  }
}

function ifGone(error: unknown): undefined {
  if (error instanceof GloveboxError && error.code === 'NOT_FOUND') return undefined
  throw error
}
