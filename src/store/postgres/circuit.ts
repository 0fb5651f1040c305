// A database that hangs costs each call its whole timeout. After a few in a row the circuit opens: calls are refused at once,
// and now and then a single one is let through to see. Time is the monotonic clock's.
import { unavailable } from '../fault.ts'

export interface Circuit {
  /** Refuses at once while the circuit is open. */
  pass<T>(call: () => Promise<T>): Promise<T>
}

export interface CircuitOptions {
  readonly isUnreachable: (error: unknown) => boolean
  readonly failures?: number
  readonly restMs?: number
  readonly now?: () => number
}

export function createCircuit(options: CircuitOptions): Circuit {
  const { isUnreachable, failures: allowed = 3, restMs = 1_000, now = () => performance.now() } = options
  let failures = 0
  let openUntil = 0
  return {
    async pass(call) {
      if (failures >= allowed) {
        if (now() < openUntil) throw refused()
        // The one who is let through; the others go on being refused until it is known how it went.
        openUntil = now() + restMs
      }
      try {
        const answer = await call()
        failures = 0
        return answer
      } catch (error) {
        if (!isUnreachable(error)) failures = 0
        else if (++failures >= allowed) openUntil = now() + restMs
        throw error
      }
    },
  }
}

const refused = (): Error =>
  unavailable('it did not answer the last calls', { hint: 'Nothing was written. It is tried again within seconds.' })
