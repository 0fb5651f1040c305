// A run as the index has it, from its record.
import type { RunRecord } from '../../contract/run.ts'
import type { RunRow } from '../../contract/store.ts'

export const rowOf = (record: RunRecord, directory: string, project_id: string | null): RunRow => ({
  run_id: record.run_id,
  session_id: record.session_id,
  task_id: record.task_id,
  project_id,
  directory,
  status: record.status,
  executor: record.executor,
  failure_reason: record.failure_reason,
  created_at: record.created_at,
  updated_at: record.updated_at,
  state_seq: record.state_seq,
})
