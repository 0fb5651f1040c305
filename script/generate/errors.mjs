import { page, table } from './markdown.mjs'

export function errorsPage({ errorTable }) {
  const rows = Object.entries(errorTable).map(([code, kind]) => [
    `\`${code}\``,
    kind.summary,
    kind.http,
    kind.exit,
    kind.retryable ? 'yes' : 'no',
  ])
  return page(
    'Errors',
    'src/errors/table.ts',
    'Every refusal and fault is a `GloveboxError` with one of these codes, a message *Cannot ‹verb› ‹thing›: ‹cause›*, and where something can be done a `hint`. `message`, `hint` and `facts` are written for the agent and never hold a host path; `operatorDetail` is for the operator alone.',
    'A command that fails is not an error but a result: see `ended` and `exitCode`.',
    '`exit` is the code of the library’s own classification. `glovebox exec` lends its exit code to the command, so there every failure of Glovebox is 125, but for 124, 126 and 130; `explain` and `doctor` use 2 for a request that was badly put and 1 for the rest.',
    table(['code', 'meaning', 'HTTP', 'exit', 'worth trying again'], rows),
  )
}
