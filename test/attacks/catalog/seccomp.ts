// The attacks that the filter answers, from the table that its tests are made of.
import { attacks } from '../seccomp-attempts.ts'
import { rowsOf, type AttackRow } from './row.ts'

const { blocked } = rowsOf('seccomp')

export const seccomp: readonly AttackRow[] = [
  ...attacks.map(({ title }) => blocked(title, 'system-call filter')),
  blocked(
    'the filter holds the first process of the namespace too',
    'bwrap loads the filter before it becomes the first process',
  ),
  blocked('the filter holds against a guest that writes Python', 'system-call filter'),
]
