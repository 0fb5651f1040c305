import { rowsOf, type AttackRow } from './row.ts'

const { blocked } = rowsOf('recycle')
export const recycle: readonly AttackRow[] = [
  blocked(
    'what one key leaves is not visible to another when a member is recycled',
    'a sandbox belongs to its key to its end; the next one has directories and namespaces of its own',
  ),
  blocked(
    "a tenant's directories end with it, whether it was made ahead or not",
    'what lies behind the link to one that was made ahead is removed with it',
  ),
  blocked(
    "a claim's variables are seen by its own commands only",
    'they are laid over the environment of each command, and reach nothing that waits for the next one',
  ),
  blocked(
    "a claim's narrower limits hold from its first command",
    'groups are drawn in before the first command, and what a process can only set on itself is set by the one that becomes the command',
  ),
  blocked(
    'a claim cannot ask a member for more than it was made with',
    'what is wider, or another wall, gets a sandbox that is made for it; the boundary itself refuses to widen',
  ),
  blocked(
    'a claim for another network does not get one that was made without',
    'a network is a wall: only a sandbox that was made with the same one fits',
  ),
  blocked(
    'a guest cannot make or replace the names of Glovebox in a member',
    'they are put there before anybody was in it, and guarded as in every writable mount',
  ),
]
