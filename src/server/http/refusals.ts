// Refusals in the audit log. Whoever is refused can repeat it as fast as the wire allows, and each record is synced, so equal
// refusals of one second become one record with their count. Nothing of what was refused is kept but the code and the route.
import type { AuditLog } from '../../runtime/audit.ts'
import type { ErrorCode } from '../../errors/table.ts'

const gatherMs = 1000
const maxKinds = 100

const recorded: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'UNAUTHENTICATED',
  'TOKEN_EXPIRED',
  'TOKEN_REVOKED',
  'INSUFFICIENT_SCOPE',
  'SCOPE_ESCALATION',
  'HOST_NOT_ALLOWED',
  'ORIGIN_NOT_ALLOWED',
  'POLICY_ESCALATION',
  'POLICY_DENIED',
  'QUOTA_EXCEEDED',
  'TOO_MANY_REQUESTS',
])

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
  let timer: NodeJS.Timeout | undefined

  const flush = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    const all = [...gathered.values()]
    gathered.clear()
    await Promise.all(
      all.map(({ first: { code, actor, route, requestId }, count }) =>
        audit.append({ actor, action: 'request.refused', subject: route, data: { code, count, requestId } }, 'failed'),
      ),
    ).catch(onLost)
  }

  return {
    note(refusal) {
      if (!recorded.has(refusal.code)) return
      const key = `${refusal.code} ${refusal.actor} ${refusal.route}`
      const known = gathered.get(key)
      if (known !== undefined) known.count += 1
      else if (gathered.size < maxKinds) gathered.set(key, { first: refusal, count: 1 })
      timer ??= setTimeout(() => void flush(), gatherMs).unref()
    },
    flush,
  }
}
