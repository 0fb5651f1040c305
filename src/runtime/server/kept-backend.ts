// One backend, opened when it is first asked for and kept. One that is not there (no program, no daemon, no image) may come while the
// server runs: it is looked for again when somebody asks, by one for all of them and not all the time.
import type { Backend } from '../../contract/backend.ts'
import { inTime, late } from '../../process/in-time.ts'

export interface KeptBackend {
  /** Rejects where it cannot be opened at all; the next one who asks tries again. */
  get(): Promise<Backend>
  close(): Promise<void>
}

/** What can hold nothing is not there. */
export const isThere = ({ capabilities }: Backend): boolean => Object.keys(capabilities).length > 0

/** A look runs programs. */
const againMs = 3000
/** A daemon that hangs lets nobody wait for longer, once it is known that it was not there. */
const patienceMs = 2000

export function keepBackend(open: () => Promise<Backend>, now: () => number = () => performance.now()): KeptBackend {
  let kept: { readonly backend: Backend; readonly at: number } | undefined
  let looking: Promise<Backend> | undefined

  const look = async (): Promise<Backend> => {
    const backend = await open()
    const before = kept?.backend
    kept = { backend, at: now() }
    await before?.close?.()
    return backend
  }
  const lookOnce = (): Promise<Backend> => {
    looking ??= look().finally(() => (looking = undefined))
    return looking
  }
  return {
    async get() {
      if (kept === undefined) return lookOnce()
      const { backend, at } = kept
      if (isThere(backend) || (looking === undefined && now() - at < againMs)) return backend
      const found = await inTime(lookOnce(), patienceMs)
      return found === late ? backend : found
    },
    async close() {
      await looking?.catch(() => {})
      await kept?.backend.close?.()
    },
  }
}
