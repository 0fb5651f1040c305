// An exec between the contract and the table.
import type { ExecChange, ExecRow } from '../contract/store.ts'
import type { ExecColumns } from './tables.ts'
import { refuseUnstorable } from './text.ts'

const yesNo = (value: boolean): number => (value ? 1 : 0)

export function toColumns(row: ExecRow): ExecColumns {
  const columns: ExecColumns = {
    ...row,
    args: JSON.stringify(row.args),
    env_keys: JSON.stringify(row.env_keys),
    policy_snapshot: JSON.stringify(row.policy_snapshot),
    stdout_truncated: yesNo(row.stdout_truncated),
    stderr_truncated: yesNo(row.stderr_truncated),
  }
  refuseUnstorable({ ...columns })
  return columns
}

export function toRow(columns: ExecColumns): ExecRow {
  return {
    ...columns,
    exec_id: columns.exec_id as ExecRow['exec_id'],
    args: JSON.parse(columns.args) as string[],
    env_keys: JSON.parse(columns.env_keys) as string[],
    policy_snapshot: JSON.parse(columns.policy_snapshot) as Record<string, unknown> | null,
    stdout_truncated: columns.stdout_truncated === 1,
    stderr_truncated: columns.stderr_truncated === 1,
  }
}

export function changedColumns(change: ExecChange): Partial<ExecColumns> {
  const { stdout_truncated, stderr_truncated, policy_snapshot, ...rest } = change
  const columns: Partial<ExecColumns> = {
    ...rest,
    ...(policy_snapshot === undefined ? {} : { policy_snapshot: JSON.stringify(policy_snapshot) }),
    ...(stdout_truncated === undefined ? {} : { stdout_truncated: yesNo(stdout_truncated) }),
    ...(stderr_truncated === undefined ? {} : { stderr_truncated: yesNo(stderr_truncated) }),
  }
  refuseUnstorable({ ...columns })
  return columns
}
