// What tells a repetition of a request from the first.
import { newSandboxId } from '../../../contract/ids.ts'
import type { OnceRequest } from '../../../runtime/server/idempotency.ts'
import type { Call } from '../route.ts'

/** Without a key no repetition is known as one, and neither a hash nor an id is made for it. */
export function onceRequest(call: Pick<Call, 'header' | 'bodySha256'>, project: string): OnceRequest {
  const key = call.header('idempotency-key')
  if (key === undefined) return { project, key, bodySha256: '', subject: '' }
  return { project, key, bodySha256: call.bodySha256, subject: newSandboxId() }
}
