// One table of codes. HTTP status, exit code, retry advice and the reference page all come from here.
export interface ErrorKind {
  readonly http: number
  readonly exit: number
  readonly retryable: boolean
  readonly summary: string
}

const kind = (http: number, exit: number, summary: string, retryable = false): ErrorKind => ({
  http,
  exit,
  retryable,
  summary,
})

// Exit codes: 2 means that the request was badly put; 125 that Glovebox could not do what was asked.
export const errorTable = {
  INVALID_INPUT: kind(400, 2, 'The input does not fit its schema.'),
  INVALID_PATH: kind(
    400,
    2,
    'The path is malformed: empty, with a NUL byte, too long, or not absolute where it must be.',
  ),
  INVALID_ENV: kind(400, 2, 'An environment name or value cannot be passed to a process.'),
  INVALID_SETTINGS: kind(400, 2, 'The settings file cannot be used.'),
  UNKNOWN_ACTION: kind(404, 2, 'No action of that name exists.'),
  UNKNOWN_BACKEND: kind(400, 2, 'No backend of that name exists.'),
  NOT_FOUND: kind(404, 1, 'Nothing is at that path.'),
  ALREADY_EXISTS: kind(409, 1, 'Something is already at that path.'),
  OUTSIDE_MOUNTS: kind(403, 1, 'The path lies outside every mount.'),
  READ_ONLY: kind(403, 1, 'The mount or the file is read-only.'),
  PROTECTED: kind(403, 1, 'The path is protected: it can be neither changed nor created.'),
  VAULT: kind(403, 1, 'The path lies in a vault: its names can be listed, its contents cannot be reached.'),
  NOT_PERMITTED: kind(403, 1, 'The operating system refused the operation.'),
  LINK_REFUSED: kind(403, 1, 'The path leads through a link that leaves the mounts, or the file has several names.'),
  NOT_A_FILE: kind(400, 1, 'The path is not a regular file.'),
  NOT_A_DIRECTORY: kind(400, 1, 'The path is not a directory.'),
  IS_A_DIRECTORY: kind(400, 1, 'The path is a directory.'),
  NOT_EMPTY: kind(409, 1, 'The directory is not empty.'),
  TOO_LARGE: kind(413, 1, 'The content is larger than the limit.'),
  NOT_TEXT: kind(415, 1, 'The file is not UTF-8 text.'),
  CONFLICT: kind(409, 1, 'The file is not what the caller expected it to be.'),
  TEXT_NOT_FOUND: kind(404, 1, 'The text to replace is not in the file.'),
  TEXT_NOT_UNIQUE: kind(409, 1, 'The text to replace is in the file more than once.'),
  NO_SPACE: kind(507, 1, 'The disk or the quota is full.'),
  BUSY: kind(409, 1, 'Something else is using it at the moment.', true),
  TIMED_OUT: kind(408, 124, 'The operation did not end in time.', true),
  CANCELLED: kind(499, 130, 'The caller cancelled the operation.'),
  COMMAND_NOT_ALLOWED: kind(403, 126, 'The command is not in the bounded set of this action.'),
  POLICY_ESCALATION: kind(403, 125, 'The request asks for more than the operator allows.'),
  POLICY_UNENFORCEABLE: kind(422, 125, 'The backend cannot enforce what the policy demands.'),
  POLICY_DENIED: kind(403, 125, 'The policy does not allow it.'),
  BACKEND_UNAVAILABLE: kind(503, 125, 'The backend cannot be used on this host.'),
  BOUNDARY_FAILED: kind(500, 125, 'The boundary could not be set up, so the command was not run.'),
  SANDBOX_GONE: kind(410, 125, 'The sandbox has been killed.'),
  ILLEGAL_TRANSITION: kind(409, 1, 'The run cannot go from the state it is in to the one asked for.'),
  RUN_ENDED: kind(409, 1, 'The run has ended, and nothing can be added to it.'),
  RECORD_DAMAGED: kind(422, 1, 'The record of the run is damaged, and is never mended by guessing.'),
  AUDIT_UNAVAILABLE: kind(503, 125, 'The audit log cannot take the record, so nothing was done.'),
  INTERNAL: kind(500, 125, 'Glovebox has a fault.'),
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof errorTable
