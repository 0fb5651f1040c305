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
  STORE_UNAVAILABLE: kind(503, 125, 'The database cannot be reached, or did not answer in time.', true),
  STORE_INCOMPATIBLE: kind(503, 125, 'The database, or its engine, is of a version that this Glovebox cannot use.'),
  UNAUTHENTICATED: kind(401, 4, 'The request carries no token that is known and in force.'),
  TOKEN_EXPIRED: kind(401, 4, 'The token was good, and its time is over.'),
  TOKEN_REVOKED: kind(401, 4, 'The token was revoked while it was in use.'),
  INSUFFICIENT_SCOPE: kind(403, 4, 'The token is in force, and has not the right that this needs.'),
  SCOPE_ESCALATION: kind(403, 4, 'A token cannot make one with more rights or a longer life than its own.'),
  HOST_NOT_ALLOWED: kind(403, 125, 'The request names a host that this server does not answer for.'),
  ORIGIN_NOT_ALLOWED: kind(403, 125, 'The request comes from a web page that may not use this server.'),
  METHOD_NOT_ALLOWED: kind(405, 2, 'The path is known, and does not take this method.'),
  UNKNOWN_FIELD: kind(400, 2, 'The input has a field that is not known.'),
  INVALID_CURSOR: kind(400, 2, 'The cursor was not made by this server for this list and project.'),
  UNSUPPORTED_MEDIA_TYPE: kind(415, 2, 'The body is not of a kind that this route reads.'),
  RANGE_NOT_SATISFIABLE: kind(416, 1, 'The range begins behind the end.'),
  URI_TOO_LONG: kind(414, 2, 'The address of the request is too long.'),
  HEADERS_TOO_LARGE: kind(431, 2, 'The headers of the request are too large.'),
  IDEMPOTENCY_MISMATCH: kind(409, 2, 'The Idempotency-Key was used before, for another request.'),
  TOO_MANY_REQUESTS: kind(429, 1, 'The token asks for more at a time than the server gives to one.', true),
  QUOTA_EXCEEDED: kind(429, 1, 'The token or the sandbox has used up what it may have.'),
  SLOW_CONSUMER: kind(408, 1, 'The reader of a stream took nothing for too long.', true),
  DRAINING: kind(503, 125, 'The server is about to stop, and takes nothing new.', true),
  SERVER_UNREACHABLE: kind(502, 125, 'The server cannot be reached, or the connection to it broke.', true),
  UNEXPECTED_ANSWER: kind(502, 125, 'The server answered with something that this client does not understand.'),
  INTERNAL: kind(500, 125, 'Glovebox has a fault.'),
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof errorTable
