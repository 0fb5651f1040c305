// One provider for a whole program, for those who want that: opened at the first call, from the settings. It is a holder that can be
// made as often as one likes; the library's door has one. Nothing of the pool is loaded before somebody asks for it.
import type { Provider } from '../../contract/provider.ts'
import type { PoolLimits } from '../../pool/limits.ts'
import type { MemberRequest } from './request.ts'

export interface ProviderOptions {
  /** Where the search for glovebox.yaml begins. Default: where the program runs. */
  readonly directory?: string | undefined
  /** Named, it may also name code (`pool.use: module#Name`). */
  readonly settingsFile?: string | undefined
  /** In place of what the settings say. */
  readonly backend?: string | undefined
  readonly limits?: Partial<PoolLimits> | undefined
  /** How long a sandbox lives for which nothing else was asked. Default: a day, and anew with each acquire. */
  readonly lifeMs?: number | undefined
  /** Told of what went wrong while nobody had asked for it, such as a sandbox that could not be made ahead. */
  readonly onFault?: ((error: unknown, about: string) => void) | undefined
}

export interface ProviderHolder {
  /** The one of this program, opened at the first call. Options count for that call. */
  readonly getProvider: (options?: ProviderOptions) => Promise<Provider>
  /** From now on this one. The one before is not ended. */
  readonly setProvider: (provider: Provider) => void
  /** Forgets what it holds in memory, and ends nothing that can live on. */
  readonly resetProvider: () => Promise<void>
  /** Ends it; the next call of `getProvider` opens another. */
  readonly shutdownProvider: () => Promise<void>
}

export function createProviderHolder(
  open: (options?: ProviderOptions) => Promise<Provider> = openProvider,
): ProviderHolder {
  let held: Promise<Provider> | undefined
  return {
    getProvider(options) {
      const opening = (held ??= open(options))
      // What is wrong may be mended, and then tried again.
      opening.catch(() => (held = held === opening ? undefined : held))
      return opening
    },
    setProvider(provider) {
      held = Promise.resolve(provider)
    },
    async resetProvider() {
      await (await held?.catch(() => undefined))?.reset()
    },
    async shutdownProvider() {
      const opened = held
      held = undefined
      await (await opened?.catch(() => undefined))?.shutdown()
    },
  }
}

/** An instance of the caller's own, from the settings. */
export async function openProvider(options: ProviderOptions = {}): Promise<Provider<MemberRequest>> {
  return (await import('./provider.ts')).openProvider(options)
}

export const { getProvider, setProvider, resetProvider, shutdownProvider } = createProviderHolder()
