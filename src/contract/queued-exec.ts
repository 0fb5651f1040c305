import type { ExecRow } from './store.ts'

/** What is true of every exec that nobody has begun. */
export const queuedExec = {
  status: 'QUEUED',
  exit_code: null,
  error_reason: null,
  started_at: null,
  ended_at: null,
  duration_ms: null,
  stdout_truncated: false,
  stderr_truncated: false,
  owner: null,
  fence: 0,
  backend: null,
  image_id: null,
  boundary_id: null,
  cancel_requested_at: null,
} as const satisfies Partial<ExecRow>
