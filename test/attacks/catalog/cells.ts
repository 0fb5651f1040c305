import { rowsOf, type AttackRow } from './row.ts'

const { blocked } = rowsOf('cells')
export const cells: readonly AttackRow[] = [
  blocked(
    'a command cannot speak to the keeper of its cell, nor in its name',
    'the keeper runs from a program that cannot be read, so the kernel hides its memory and descriptors',
  ),
  blocked(
    'a command finds nothing that the one before left outside of the mounts',
    'a cell in which a file is left is not used again',
  ),
  blocked(
    'a command finds no shared memory, queue or port of the one before',
    'a cell in which a segment, a queue or a closed connection is left is not used again',
  ),
  blocked(
    'a command knows nothing of the variables, directory and mask of the one before',
    'each command is a child of the keeper, which itself never changes',
  ),
  blocked(
    'a protected name that the host replaced is guarded again in the next command',
    'every mount of a cell is looked for before a command is let in',
  ),
]
