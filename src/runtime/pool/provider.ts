// The provider that the settings describe: the pool of this host, a server's, or the operator's own. What a library user holds is an
// instance of his own; holder.ts keeps one for a whole program, for those who want that.
import type { Provider } from '../../contract/provider.ts'
import type { Sandbox } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { Pool } from '../../pool/pool.ts'
import { providerOver } from '../../pool/provider.ts'
import { defaultBackend } from '../create.ts'
import { openServedBackends } from '../server/backends.ts'
import { loadSettings, type PoolSettings, type Settings } from '../settings.ts'
import { stateHome } from '../state.ts'
import { sandboxFacade } from './facade.ts'
import type { ProviderOptions } from './holder.ts'
import { openLeases } from './leases.ts'
import type { Member } from './member.ts'
import { namesModule, openModuleProvider } from './module-provider.ts'
import { openRealPool } from './open.ts'
import type { MemberRequest } from './request.ts'

const dayMs = 24 * 60 * 60_000

export async function openProvider(options: ProviderOptions = {}): Promise<Provider<MemberRequest>> {
  const { directory = process.cwd(), settingsFile } = options
  const settings = await loadSettings({ directory, ...(settingsFile === undefined ? {} : { settingsFile }) })
  const { use, provisioner_url: url } = settings.pool ?? {}
  if (options.backend === undefined && namesModule(use)) return openModuleProvider(use, settings.pool as PoolSettings)
  if (options.backend === undefined && url !== undefined)
    return (await import('./remote-provider.ts')).openRemoteProvider(url)
  return openHostProvider(options, settings)
}

async function openHostProvider(options: ProviderOptions, settings: Settings): Promise<Provider<MemberRequest>> {
  const state = stateHome()
  const { pool: poolSettings } = settings
  const backend = options.backend ?? poolSettings?.use ?? settings.backend ?? defaultBackend()
  const docker = poolSettings?.image === undefined ? settings.docker : { ...settings.docker, image: poolSettings.image }
  const backends = openServedBackends([backend], { docker })
  const { pool, members, lifetimes } = openRealPool({
    state,
    backends,
    leases: await openLeases({ state, timeoutSeconds: poolSettings?.lease_timeout }),
    layers: settings.layers,
    env: settings.env ?? {},
    vaults: settings.vaults,
    settings: poolSettings,
    limits: options.limits ?? {},
    lifeMs: options.lifeMs ?? dayMs,
    onFault: options.onFault,
    operatorEnv: process.env,
  })
  const end = async (): Promise<void> => {
    await provider.shutdown()
    await members.close()
    await backends.close()
  }
  let ending: Promise<void> | undefined
  const provider: Provider<MemberRequest> = providerOver(pool, (member: Member) => held(member, pool, provider))
  return {
    ...provider,
    async acquire(key, asked = {}) {
      const { handle, source } = await pool.acquire(key, asked)
      // On the disk before it is answered, so not each time: what is left is at least half of a life.
      const { expires_at: end, life_ms: lifeMs } = handle.record
      if (source !== 'created' && Date.parse(end) - Date.now() < lifeMs / 2) await lifetimes.renew(handle.id, lifeMs)
      return handle.id
    },
    shutdown: () => (ending ??= end()),
  }
}

/** `kill` ends it for everybody, with its files; `await using` only gives it back. */
const held = (
  member: Member,
  pool: Pick<Pool<Member, MemberRequest>, 'use'>,
  provider: Pick<Provider, 'destroy' | 'release'>,
): Sandbox =>
  sandboxFacade({
    id: member.id,
    live: async () => {
      pool.use(member.id)
      return member.sandbox
    },
    during: async (work) => {
      pool.use(member.id)
      return work(member.sandbox)
    },
    open: () => member.sandbox,
    describe: () => member.sandbox.describe(),
    kill: () => provider.destroy(member.id),
    dispose: () => provider.release(member.id),
  })

/** For servers, which keep sandboxes themselves. */
export function refuseModule(settings: PoolSettings | undefined): void {
  if (!namesModule(settings?.use) && settings?.provisioner_url === undefined) return
  throw new GloveboxError('INVALID_SETTINGS', 'Cannot serve sandboxes that another provider keeps', {
    hint: 'Leave pool.use and pool.provisioner_url out of the settings of a server: they are for programs that use the library.',
  })
}
