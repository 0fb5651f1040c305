import { rowsOf, type AttackRow } from './row.ts'

// Held by the server above every backend that binds directories.
const { blocked } = rowsOf('execs')

export const execs: readonly AttackRow[] = [
  blocked(
    'a guest cannot change, replace or redirect the records of its exec',
    'the guest sees one directory below the records and nothing above it',
  ),
  blocked(
    'a link in the artifacts leads to no file of the host',
    'walked by descriptor, links listed and not followed',
  ),
  blocked(
    'a hard link joins no two directories of an exec',
    'each is a mount of its own, and no name is made across mounts',
  ),
  blocked(
    'a command of an exec cannot tell its own end and go on',
    'whoever tells it runs from a program that cannot be read, so the kernel hides its descriptors; on gVisor the runtime tells it',
  ),
  blocked('an input reaches nothing outside of inputs/', 'checked by its words, then walked by descriptor'),
  blocked('a workspace that others can write is refused', 'owner and mode are asked before anything is written'),
  blocked(
    "a value of an exec's environment is found on no disk, in no log and in no command line",
    "kept in the server's memory until the command begins, and handed to its process alone",
  ),
]
