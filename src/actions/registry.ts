// The named actions of a sandbox: one definition each, for library, HTTP, MCP, command line and console.
// Promises: input is checked against its schema before anything happens; every result is bounded and says
// when it was cut; no message, result or hint holds a host path.
// Must not know: which backend carries the sandbox, how a face shows a result, or anything of the host.
import type { Action } from '../contract/action.ts'
import { GloveboxError } from '../errors/error.ts'
import { didYouMean } from '../errors/suggest.ts'
import { appendText } from './append-text.ts'
import { findEntries } from './find-entries.ts'
import { globEntries } from './glob-entries.ts'
import { grepText } from './grep-text.ts'
import { inspect } from './inspect.ts'
import { listDir } from './list-dir.ts'
import { mkdir } from './mkdir.ts'
import { readBytes } from './read-bytes.ts'
import { readText } from './read-text.ts'
import { removeEntry } from './remove-entry.ts'
import { renameEntry } from './rename-entry.ts'
import { replaceText } from './replace-text.ts'
import { runCommand } from './run-command.ts'
import { runShell } from './run-shell.ts'
import { closePersistentShell } from './shells/close.ts'
import { execPersistentShell } from './shells/exec.ts'
import { inspectPersistentShell } from './shells/inspect.ts'
import { openPersistentShell } from './shells/open.ts'
import { waitPersistentShell } from './shells/wait.ts'
import { stat } from './stat.ts'
import { writeBytes } from './write-bytes.ts'
import { writeText } from './write-text.ts'

export const actions: readonly Action[] = [
  listDir,
  stat,
  findEntries,
  globEntries,
  grepText,
  readText,
  readBytes,
  writeText,
  writeBytes,
  appendText,
  replaceText,
  mkdir,
  renameEntry,
  removeEntry,
  runCommand,
  runShell,
  openPersistentShell,
  execPersistentShell,
  waitPersistentShell,
  inspectPersistentShell,
  closePersistentShell,
  inspect,
]

export const findAction = (name: string): Action | undefined => actions.find((action) => action.name === name)

/** Throws UNKNOWN_ACTION with the nearest name. */
export function getAction(name: string): Action {
  const action = findAction(name)
  if (action !== undefined) return action
  const shown = JSON.stringify(name.slice(0, 100))
  const known = actions.map((each) => each.name)
  throw new GloveboxError('UNKNOWN_ACTION', `Cannot execute ${shown}: no action has that name`, {
    hint: didYouMean(name, known),
  })
}
