// What tells a repetition of a request from the first.
import type { OnceRequest } from '../../../runtime/server/idempotency.ts'
import { keptDays } from '../../../runtime/server/key-purge.ts'
import type { Call } from '../route.ts'

/** Said wherever a request takes a key. */
export const keysKept = `A key is forgotten after ${keptDays} days, and then means another request.`

/** Without a key no repetition is known as one, and no hash is made for it. */
export function onceRequest(
  call: Pick<Call, 'header' | 'bodySha256'>,
  project: string,
  newId: () => string,
): OnceRequest {
  const key = call.header('idempotency-key')
  return { project, key, bodySha256: key === undefined ? '' : call.bodySha256, subject: newId() }
}
