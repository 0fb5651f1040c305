// The pool as a Provider: what its users hold of it.
import type { SandboxId } from '../contract/ids.ts'
import type { Provider, SandboxRequest } from '../contract/provider.ts'
import type { Sandbox } from '../contract/sandbox.ts'
import type { Pool } from './pool.ts'

export const providerOver = <Handle, Request extends SandboxRequest>(
  pool: Pool<Handle, Request>,
  sandboxOf: (handle: Handle) => Sandbox,
): Provider<Request> => ({
  acquire: async (key, options = {}) => (await pool.acquire(key, options)).id,
  get: (id) => {
    const handle = pool.find(id)
    return handle === undefined ? undefined : sandboxOf(handle)
  },
  release: (id) => pool.release(id),
  destroy: (id) => pool.destroy(id as SandboxId),
  reset: () => pool.reset(),
  shutdown: () => pool.shutdown(),
})
