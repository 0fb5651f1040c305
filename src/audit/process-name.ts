// The writer's process as an intent names it. A pid alone is given out again; with its start, boot and namespace it is not.
import { isDead, thisHolder, type Holder } from '../paths/holder.ts'

export function thisProcess(): string {
  const { pid, startTime, bootId, pidNamespace } = thisHolder()
  return [pid, startTime, bootId, pidNamespace].join(' ')
}

/** True only when it is certain. */
export function isGone(by: string | null): boolean {
  const [pid, startTime, bootId, pidNamespace, end] = (by ?? '').split(' ')
  if (!/^[1-9]\d*$/.test(pid ?? '') || !startTime || !bootId || !pidNamespace || end !== undefined) return false
  const holder: Holder = { nonce: '', pid: Number(pid), startTime, bootId, pidNamespace }
  return isDead(holder)
}
