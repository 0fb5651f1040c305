import { rowsOf, type AttackRow } from './row.ts'

const { blocked } = rowsOf('resources')
export const resources: readonly AttackRow[] = [
  blocked('the root directory cannot be filled', 'the root is read-only in the end'),
  blocked('/dev cannot be filled', '/dev is read-only in the end'),
  blocked('/tmp and /dev/shm hold no more than their size', 'sized tmpfs'),
  blocked('core dumps are not written', 'RLIMIT_CORE 0'),
  blocked('limits once set cannot be raised inside', 'hard limits, and no capability'),
  blocked("the host's standard input is not read", 'standard input is /dev/null unless it is given', {
    local: 'blocked',
  }),
  blocked('an output flood is bounded', 'truncated and drained with backpressure', { local: 'blocked' }),
]
