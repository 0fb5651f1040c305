import { rowsOf, type AttackRow } from './row.ts'

const { blocked } = rowsOf('processes')
export const processes: readonly AttackRow[] = [
  blocked('a process of the host is neither seen nor signalled', 'a pid namespace with a /proc of its own', {
    seen: 'Landlock before ABI 6',
  }),
  blocked('another sandbox is neither seen nor signalled', 'a pid namespace for each exec'),
  blocked('a daemon does not outlive its exec', 'the pid namespace ends with the command'),
  blocked('a daemon does not outlive a timeout', 'SIGKILL to the first process of the namespace'),
  blocked('no zombie is left of many execs', 'bwrap is a direct child that is waited for, and reaps inside', {
    seen: 'bwrap #587, #697',
  }),
  blocked('a host that is killed leaves nothing running', '--die-with-parent, with no shell between'),
  blocked(
    'a host that is killed as a command starts leaves nothing running',
    'the command waits for a word from the host, bwrap’s report needs no reader, and a warden ends what is left',
  ),
  blocked(
    'the first process cannot be made to outlive the host',
    'its memory is covered in /proc, so that it cannot forget its parent’s death',
  ),
]
