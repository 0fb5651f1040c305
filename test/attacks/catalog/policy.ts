import { rowsOf, type AttackRow } from './row.ts'

// Policy is decided before a backend is asked, so what holds here holds for every one.
const { blocked } = rowsOf('policy', { local: 'blocked' })

export const policy: readonly AttackRow[] = [
  blocked('a request above a ceiling is refused', 'only the operator moves a ceiling; nothing is clamped', {
    seen: 'srt #97, trailofbits PR #50',
  }),
  blocked(
    'a request cannot move a ceiling or give up a protection',
    'ceilings and unprotect are taken from settings only',
  ),
  blocked(
    'a sandbox inside a sandbox is never wider than its parent',
    "the parent's values are ceilings, its lists a floor",
    { hostSide: 'policies are joined before a backend is asked' },
  ),
  blocked(
    'a backend without a wall is refused and not used without it',
    'capabilities are compared with the policy before anything starts; there is no fallback',
  ),
  blocked('prototype keys set no policy value', 'own and known keys only, into an object without a prototype'),
]
