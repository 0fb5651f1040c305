// Execs that are ours and that nobody works on: the answer to a claim, or to a cancel in the queue, was lost on its way, or an end
// could not be written for too long. Asked twice, so that one that is just being claimed or cancelled is not taken for such a one.
import { hasEnded, type ExecFilter, type ExecRow } from '../contract/store.ts'
import { recoverOne, type RecoverParts } from './recover.ts'

/** What cannot be recovered is told once, and looked at again with every call. */
export function openStrays(parts: RecoverParts): () => Promise<void> {
  let suspects: ReadonlySet<string> = new Set()
  const failing = new Set<string>()
  return async () => {
    await forgetWritten(parts)
    const idle = (await listOwn(parts)).filter(({ exec_id }) => !isTakenCareOf(parts, exec_id))
    const before = suspects
    suspects = new Set(idle.map(({ exec_id }) => exec_id))
    for (const execId of failing) if (!suspects.has(execId)) failing.delete(execId)
    for (const row of idle) {
      if (!before.has(row.exec_id)) continue
      try {
        await recoverOne(parts, row)
      } catch (error) {
        if (!failing.has(row.exec_id)) parts.log(`${row.exec_id} could not be recovered, and is tried again`, error)
        failing.add(row.exec_id)
      }
    }
  }
}

async function listOwn({ store, self }: RecoverParts): Promise<readonly ExecRow[]> {
  const list = async (filter: ExecFilter) => (await store.execs.list({ owner: self, ...filter }, { limit: 1000 })).rows
  return [...(await list({ status: ['QUEUED'], cancel_requested: true })), ...(await list({ status: ['RUNNING'] }))]
}

const isTakenCareOf = ({ work, inHand }: RecoverParts, execId: string): boolean =>
  inHand.has(execId) || work.ids.includes(execId)

/** Ends that others have written, or that were written when we could not be told so. */
async function forgetWritten(parts: RecoverParts): Promise<void> {
  for (const execId of parts.knownEnds.keys()) {
    if (isTakenCareOf(parts, execId)) continue
    const row = await parts.store.execs.find(execId)
    if (row === undefined || hasEnded(row.status)) parts.knownEnds.delete(execId)
  }
}
