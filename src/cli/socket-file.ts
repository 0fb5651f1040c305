// Where `--socket` may lie: looked at before anything is opened, so that the refusal can speak of that flag.
import { accessSync, constants, lstatSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { GloveboxError } from '../errors/error.ts'

/** The kernel's, without the NUL at the end. */
const longestBytes = 107

export function checkSocketFile(path: string): string {
  const directory = dirname(path)
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw refusal('its directory does not exist', path, 'Make the directory first, or name another file.')
  if (Buffer.byteLength(path) > longestBytes)
    throw refusal(`its path is longer than ${longestBytes} bytes`, path, 'Name one that lies less deep.')
  // Whatever is there is taken away when the server begins to listen: only what a server left may be.
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === false)
    throw refusal('there is a file of another kind', path, 'Name a file that is not there yet.')
  try {
    accessSync(directory, constants.W_OK | constants.X_OK)
  } catch {
    throw refusal('its directory may not be written', path, 'Name a file in a directory of your own.')
  }
  return path
}

const refusal = (cause: string, path: string, hint: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot listen on the file of --socket: ${cause}`, { hint, operatorDetail: path })
