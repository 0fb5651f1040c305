import { rowsOf, type AttackRow } from './row.ts'

const { blocked, open } = rowsOf('limits')
export const limits: readonly AttackRow[] = [
  blocked(
    'a fork bomb is ended and the host stays responsive',
    'RLIMIT_NPROC in the user namespace, pids of a control group',
  ),
  blocked('a memory bomb ends by oom', 'a control group; where there is none, asking for the limit is refused', {
    seen: 'nono',
  }),
  blocked('a CPU spin ends by timeout and the whole tree is gone', 'SIGKILL to the first process of the namespace'),
  open(
    'memory and CPU without a control group',
    'Where the operator has none that may be used, nothing can hold them. `describe` and `explain` list them as not enforced, and asking for them is refused.',
  ),
  open(
    'counts that the kernel keeps for each user are used up',
    'Inotify instances, pending signals and pages of pipes are counted by id, and the guest’s id is its starter’s; started by root, it is one id for all sandboxes. What else runs under that id may get less.',
  ),
]
