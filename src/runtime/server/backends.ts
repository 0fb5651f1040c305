// The backends that the operator lets a server use, each opened once and kept: opening one looks at the host and sweeps what
// a crash left, which no request should wait for twice.
import { setTimeout as delay } from 'node:timers/promises'
import type { Backend, BackendName, Probe } from '../../contract/backend.ts'
import { GloveboxError } from '../../errors/error.ts'
import { openBackendFor } from '../create.ts'
import type { Settings } from '../settings.ts'

export interface ServedBackends {
  readonly names: readonly BackendName[]
  /** Undefined: the first of them. One that is not among them is POLICY_ESCALATION. */
  get(name: string | undefined): Promise<Backend>
  close(): Promise<void>
}

export function openServedBackends(
  names: readonly [BackendName, ...BackendName[]],
  docker?: Settings['docker'],
): ServedBackends {
  const opened = new Map<BackendName, Promise<Backend>>()
  const open = (name: BackendName): Promise<Backend> => {
    const asked = { backend: name, ...(docker === undefined ? {} : { docker }) }
    const opening = opened.get(name) ?? openBackendFor(asked).then((backend) => withRememberedProbe(backend))
    opened.set(name, opening)
    // What is wrong with it may be mended while the server runs.
    opening.catch(() => opened.delete(name))
    return opening
  }
  return {
    names,
    async get(asked) {
      const name = asked === undefined ? names[0] : names.find((known) => known === asked)
      // SECURITY: `local` isolates nothing; which mechanisms a caller may choose is the operator's to say.
      // test/e2e/server-sandboxes: "a backend that the operator did not name is refused"
      if (name === undefined)
        throw new GloveboxError('POLICY_ESCALATION', 'Cannot use that backend: this server does not offer it', {
          hint: `It offers: ${names.join(', ')}.`,
          facts: { field: 'backend', asked, allowed: names },
        })
      return open(name)
    },
    async close() {
      const all = await Promise.allSettled(opened.values())
      await Promise.allSettled(
        all.map(async (each) => (each.status === 'fulfilled' ? each.value.close?.() : undefined)),
      )
    },
  }
}

const believedMs = 30_000
const againMs = 100

/**
 * Each run asks whether its backend works, and asking runs a program. What worked is believed for a while. What did not is
 * asked once more: sandboxes come and go meanwhile, and their mounts may vanish under the probe.
 */
export function withRememberedProbe(backend: Backend, now: () => number = () => performance.now()): Backend {
  let known: { readonly probe: Promise<Probe>; readonly at: number } | undefined
  const ask = async (): Promise<Probe> => {
    const first = await backend.probe()
    if (first.available) return first
    await new Promise((resolve) => setTimeout(resolve, againMs))
    return backend.probe()
  }
  return {
    ...backend,
    async probe() {
      if (known !== undefined && now() - known.at < believedMs) return known.probe
      const asked = { probe: ask(), at: now() }
      known = asked
      const { available } = await asked.probe.catch(() => ({ available: false }))
      if (!available && known === asked) known = undefined
      return asked.probe
    },
  }
}

export interface BackendState {
  readonly name: BackendName
  readonly state: 'works' | 'does not work'
  readonly detail?: string
}

/** A mechanism that does not answer must not keep the server from saying where it is. */
const answerMs = 15_000

/** For the operator: does it work here, and if not, why. */
export async function probeBackend(backends: ServedBackends, name: BackendName): Promise<BackendState> {
  const patience = new AbortController()
  try {
    const { available, version, reason } = await Promise.race([
      backends.get(name).then((backend) => backend.probe()),
      delay(answerMs, silent, { ref: false, signal: patience.signal }),
    ])
    const detail = available ? version : reason
    return { name, state: available ? 'works' : 'does not work', ...(detail === undefined ? {} : { detail }) }
  } catch (error) {
    return { name, state: 'does not work', detail: error instanceof Error ? error.message : String(error) }
  } finally {
    patience.abort()
  }
}

const silent: Probe = { available: false, reason: `it has not answered for ${answerMs / 1000} s` }
