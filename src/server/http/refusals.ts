// Refusals in the audit log. Whoever is refused can repeat it as fast as the wire allows, and each record is synced, so equal
// refusals of one second become one record with their count. Nothing of what was refused is kept but the code and the route.
import type { AuditLog } from '../../runtime/audit.ts'
import { errorTable, type ErrorCode } from '../../errors/table.ts'

const gatherMs = 1000
const maxKinds = 100

/** Of a request that never came to a route: it could not be read, or was answered before. */
export const noRoute = '*'

/** Whatever the caller is to blame for, but for its own going away; and what is not taken because the server ends. */
const recorded: ReadonlySet<string> = new Set(
  Object.entries(errorTable)
    .filter(([code, { http }]) => (http < 500 && code !== 'CANCELLED') || code === 'DRAINING')
    .map(([code]) => code),
)

export interface Refusal {
  readonly code: ErrorCode
  readonly actor: string
  /** Pattern of the route, never the address that was asked for. */
  readonly route: string
  readonly requestId: string
}

export interface Refusals {
  note(refusal: Refusal): void
  flush(): Promise<void>
}

export function openRefusals(audit: Pick<AuditLog, 'append'>, onLost: (error: unknown) => void): Refusals {
  const gathered = new Map<string, { readonly first: Refusal; count: number }>()
  /** Of further kinds than may be told one by one in a second. */
  let further = 0
  let timer: NodeJS.Timeout | undefined

  const flush = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    const all = [...gathered.values()].map(({ first: { code, actor, route, requestId }, count }) => ({
      actor,
      subject: route,
      data: { code, count, requestId },
    }))
    // SECURITY: whoever makes refusals of many kinds cannot hide another one behind them: that there were more is told.
    // src/server/http/refusals.test.ts: "beyond a hundred kinds in a second, how many more there were is one record"
    const rest =
      further === 0 ? [] : [{ actor: 'several', subject: noRoute, data: { count: further, kinds: 'further ones' } }]
    gathered.clear()
    further = 0
    await Promise.all(
      [...all, ...rest].map((each) => audit.append({ ...each, action: 'request.refused' }, 'failed')),
    ).catch(onLost)
  }

  return {
    note(refusal) {
      if (!recorded.has(refusal.code)) return
      const key = `${refusal.code} ${refusal.actor} ${refusal.route}`
      const known = gathered.get(key)
      if (known !== undefined) known.count += 1
      else if (gathered.size < maxKinds) gathered.set(key, { first: refusal, count: 1 })
      else further += 1
      timer ??= setTimeout(() => void flush(), gatherMs).unref()
    },
    flush,
  }
}
