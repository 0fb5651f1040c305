// A mount as a person writes it, on the command line and in the settings file: GUEST=HOST[:ro|:rw|:vault].
import { resolve } from 'node:path'
import type { MountMode } from '../contract/mount.ts'
import { GloveboxError } from '../errors/error.ts'
import { didYouMean } from '../errors/suggest.ts'

export interface MountRequest {
  readonly guestPath: string
  readonly hostPath: string
  readonly mode?: MountMode
  /** Never written by a person: made for a run that continues another. */
  readonly over?: { readonly lower: readonly string[]; readonly work: string }
}

export const mountModes = ['ro', 'rw', 'vault'] as const satisfies readonly MountMode[]

const form = 'Write a mount as GUEST=HOST[:ro|:rw|:vault], for example /data=./data:ro.'

/** Law: what follows the last colon is a mode or an error, so that a misspelt `:ro` is never taken for part of a name. */
export function parseMountText(text: string, directory: string): MountRequest {
  const equals = text.indexOf('=')
  if (equals < 0) throw refuse('there is no "=" between guest and host path')
  const guestPath = text.slice(0, equals)
  const { hostPath, mode } = splitMode(text.slice(equals + 1))
  if (!guestPath.startsWith('/')) throw refuse('the guest path must begin with "/"')
  return { guestPath, hostPath: resolveHostPath(hostPath, directory), ...(mode === undefined ? {} : { mode }) }
}

export function resolveHostPath(hostPath: string, directory: string): string {
  if (hostPath === '') throw refuse('the host path is empty')
  if (hostPath.includes('\0')) throw refuse('the host path contains a NUL byte')
  // The shell expands "~" only at the start of a word; taken literally it would name a directory called "~".
  if (hostPath === '~' || hostPath.startsWith('~/')) {
    throw refuse('"~" was not expanded by the shell', 'Write "$HOME" or the full path in place of "~".')
  }
  return resolve(directory, hostPath)
}

function splitMode(text: string): { readonly hostPath: string; readonly mode?: MountMode } {
  const colon = text.lastIndexOf(':')
  if (colon < 0 || text.indexOf('/', colon) >= 0) return { hostPath: text }
  const word = text.slice(colon + 1)
  const mode = mountModes.find((known) => known === word)
  if (mode === undefined) {
    const hint = `${didYouMean(word, mountModes)} A host name with a colon in it needs its mode written out.`
    throw refuse(`"${word}" is not a mode`, hint)
  }
  return { hostPath: text.slice(0, colon), mode }
}

const refuse = (cause: string, hint = form): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot read the mount: ${cause}.`, { hint })
