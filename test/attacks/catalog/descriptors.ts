import { rowsOf, type AttackRow } from './row.ts'

const { blocked } = rowsOf('descriptors')

export const descriptors: readonly AttackRow[] = [
  blocked(
    'a descriptor inherited by the host process does not reach the guest',
    'inheritable descriptors are covered by /dev/null',
  ),
  blocked(
    'a descriptor that a library of the host leaves open does not reach the guest',
    'looked for before every exec',
  ),
  blocked('/dev/fd and /proc/self/fd of the standard streams lead nowhere else', 'pipes and /dev/null only'),
  blocked(
    'the mounts’ own descriptors and the filter’s are closed before the command runs',
    'bwrap and the gate close them',
  ),
  blocked('standard input of the host is not the guest’s', '/dev/null unless a caller gives something'),
]
