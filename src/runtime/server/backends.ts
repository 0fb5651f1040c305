// The backends that the operator lets a server use, each opened once and kept: opening one looks at the host and sweeps what
// a crash left, which no request should wait for twice.
import { setTimeout as delay } from 'node:timers/promises'
import type { Backend, BackendName, Probe } from '../../contract/backend.ts'
import { GloveboxError } from '../../errors/error.ts'
import { inTime } from '../../process/in-time.ts'
import { openBackendFor, type BackendChoice } from '../create.ts'
import { isThere, keepBackend, type KeptBackend } from './kept-backend.ts'

export interface ServedBackends {
  readonly names: readonly [BackendName, ...BackendName[]]
  /** Undefined: the first of them. One that is not among them is POLICY_ESCALATION. */
  get(name: string | undefined): Promise<Backend>
  close(): Promise<void>
}

export function openServedBackends(
  names: readonly [BackendName, ...BackendName[]],
  choice: Pick<BackendChoice, 'docker' | 'lastingDir'> = {},
): ServedBackends {
  const opened = new Map<BackendName, KeptBackend>()
  const open = (name: BackendName): Promise<Backend> => {
    const asked = { ...choice, backend: name }
    const kept = opened.get(name) ?? keepBackend(async () => withRememberedProbe(await openBackendFor(asked)))
    opened.set(name, kept)
    return kept.get()
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
      await Promise.allSettled([...opened.values()].map((kept) => kept.close()))
    },
  }
}

/** Whoever asks whether the server takes work waits for no longer. One that hangs is known by the next who asks. */
const readyMs = 2000

/** Is the first of them there, and does it answer? Nothing is tried with it: what is there may still not work. */
export async function isFirstThere(backends: Pick<ServedBackends, 'get'>): Promise<boolean> {
  try {
    const backend = await backends.get(undefined)
    return isThere(backend) && (await inTime(answers(backend), readyMs)) !== false
  } catch {
    return false
  }
}

const answers = async (backend: Backend): Promise<boolean> => (await backend.answers?.()) ?? true

const believedMs = 30_000
const againMs = 100

/**
 * Each run asks whether its backend works, and asking runs a program. What worked is believed for a while, as long as it answers. What did
 * not is asked once more: sandboxes come and go meanwhile, and their mounts may vanish under the probe.
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
      const before = known
      const isOld = before === undefined || now() - before.at >= believedMs
      if (!isOld && (await answers(backend))) return before.probe
      // Somebody has asked anew meanwhile.
      if (known !== undefined && known !== before) return known.probe
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
