import { rowsOf, type AttackRow } from './row.ts'

const { blocked } = rowsOf('self-description')
export const selfDescription: readonly AttackRow[] = [
  blocked(
    'the catalog can be neither written, replaced, moved nor covered',
    'it lies outside of every mount that can be written, and is mounted read-only over its path',
  ),
  blocked(
    'a project cannot bring a catalog of its own',
    'the catalog is mounted over whatever the project has there; a link or a file in its place is refused',
  ),
]
