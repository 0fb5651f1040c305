import { rowsOf, type AttackRow } from './row.ts'

const { blocked } = rowsOf('environment')
export const environment: readonly AttackRow[] = [
  blocked("a secret of the operator's environment is not in the guest's", 'an allow-list of names', {
    local: 'blocked',
  }),
  blocked('the environment of the host process cannot be read through /proc', 'an own pid namespace and a fresh /proc'),
  blocked('a request cannot add a name to the environment', 'names above the operator’s are an escalation', {
    local: 'blocked',
  }),
  blocked('PATH shows no host-only directory and none relative to the cwd', 'filtered to what is visible inside', {
    local: 'blocked',
  }),
  blocked(
    "a variable of the guest's choice does not reach the gate",
    'variables wait under other names until the limits hold',
    {
      seen: 'Codex hardening; srt "start no program before the filter"',
    },
  ),
  blocked(
    'loaders in the environment of a command reach that command and nothing of the host',
    'helpers are started with an empty environment',
  ),
  blocked(
    "the operator's own preloaded library is not loaded by bwrap or in the guest",
    'helpers are started with an empty environment',
  ),
  blocked('environment values are not on the command line of any process', 'bwrap reads them from a descriptor', {
    local: 'blocked',
  }),
]
