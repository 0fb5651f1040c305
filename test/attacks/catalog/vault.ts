import { rowsOf, type AttackRow } from './row.ts'

const { blocked, open } = rowsOf('vault', { local: 'does not apply' })
export const vault: readonly AttackRow[] = [
  blocked(
    'a secret that policy does not grant is refused',
    'grants are names in policy under a ceiling of the operator, asked for before any source is',
  ),
  blocked(
    'a value that is too short to be redacted is not handed over',
    'below eight bytes a value is refused, since it could not be told from other text',
  ),
  blocked(
    'a command after one with a secret finds nothing of it',
    'a command with a secret has a boundary of its own, which ends with it',
  ),
  blocked(
    'a command beside one with a secret finds nothing of it',
    'commands have process tables, private places and files of secrets of their own',
  ),
  blocked(
    'a persistent shell shows nothing of a secret that a command was given',
    'a shell is given no secret, stands in a boundary of its own, and what it shows is redacted',
  ),
  blocked(
    'a terminal shows nothing of a value that a command wrote down',
    'what a terminal shows is redacted as it comes',
  ),
  blocked(
    'a secret given as a file is on no disk, and gone with its command',
    'the file is made in the memory of the boundary from a pipe',
  ),
  blocked('a crash of a command with a secret leaves no value behind', 'RLIMIT_CORE is 0 and cannot be raised'),
  blocked('no action and no link shows a value of a vault', 'the guest sees empty files in place of the contents'),
  blocked(
    'a value that a command wrote down is redacted wherever it is read',
    'every value that was handed out in a sandbox is taken out of its outputs, answers and errors',
  ),
  blocked('a directory put in the place of a vault is not read', 'a vault is read by the descriptor of its directory'),
  blocked('a link in a vault hands over nothing', 'files of a vault are opened without following'),
  blocked(
    'a program that the guest can write is not run for a vault',
    'programs are named by whole paths, and none may lie in a writable mount',
  ),
  blocked(
    'a settings file that was found cannot have a program run for a vault',
    'programs are taken only from a file that the operator named',
    { hostSide: 'settings are read before a backend is chosen' },
  ),
  open(
    'a command that was given a value can say it in a form of its own',
    'redaction is against accidents: whoever holds a value can encode it as nobody expects. Grant a secret to commands that you trust with it, and give them no network',
  ),
  blocked(
    "a mount's host path that the guest swapped for a link is not mounted again",
    'provision refuses when the way to a mount that stays leads through a link',
  ),
]

const records = rowsOf('vault-records', { local: 'does not apply' })
export const vaultRecords: readonly AttackRow[] = [
  records.blocked(
    'a value that a command printed or kept is in no record of its run',
    'outputs are redacted before anybody sees them, and contents with a value are not archived',
  ),
  records.blocked(
    'a value that a command printed or kept is in no record of its exec',
    'outputs are redacted before they are written, and artifacts when the exec has ended',
  ),
  records.blocked(
    'a value that is not granted to an exec is refused, and recorded as refused',
    'a request has what a ceiling of the operator lets it have',
  ),
  records.blocked(
    'a value that a command printed is in no answer and no record of a sandbox',
    'outputs, answers of actions, errors and the catalog are redacted on the way out',
  ),
]
