// The attacks that bwrap's filter answers, from the table that its tests are made of. Containers: see docker-calls.ts.
import { attacks } from '../seccomp-attempts.ts'
import { rowsOf, type AttackRow } from './row.ts'

const { blocked } = rowsOf('seccomp')

export const seccomp: readonly AttackRow[] = [
  ...attacks.map(({ title }) => blocked(title, 'a filter of system calls')),
  blocked(
    'the filter holds the first process of the namespace too',
    'the filter is loaded before the first process begins',
  ),
  blocked('the filter holds against a guest that writes Python', 'a filter of system calls'),
]
