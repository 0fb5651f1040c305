// A vault whose values are files of a directory of the operator's.
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { closingOnce } from '../process/closing-once.ts'
import { isSecretName } from './names.ts'
import { mostBytes, unavailable, type Source } from './source.ts'

/** SECURITY: by the descriptor of the directory that the operator named: what leads to it may be the guest's, who would put another
 * one in its place. test/attacks/vault: "a directory put in the place of a vault is not read" */
export function directorySource(directory: string, vault: string): Source {
  let descriptor: number
  try {
    descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  } catch (error) {
    throw unavailable(vault, 'the directory of the vault cannot be opened', error as Error)
  }
  const place = `/proc/self/fd/${descriptor}`
  return {
    kind: 'directory',
    names: () =>
      readdirSync(`${place}/.`, { withFileTypes: true })
        .filter((entry) => entry.isFile() && isSecretName(entry.name))
        .map(({ name }) => name)
        .toSorted(),
    read: async ({ secret, name }) => readValue(join(place, secret), name),
    close: closingOnce(descriptor),
  }
}

/** By descriptor, and without following: a link would make a secret of any file that the operator can read. */
function readValue(path: string, name: string): Uint8Array {
  let descriptor: number
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    throw unavailable(name, 'its file cannot be opened', error as Error)
  }
  try {
    const stats = fstatSync(descriptor)
    if (!stats.isFile()) throw unavailable(name, 'it is no regular file')
    if (stats.size > mostBytes) throw unavailable(name, `it is larger than ${mostBytes} bytes`)
    const bytes = Buffer.alloc(mostBytes + 1)
    let length = 0
    for (let more = 1; more > 0 && length < bytes.length; length += more)
      more = readSync(descriptor, bytes, length, bytes.length - length, null)
    return Uint8Array.from(bytes.subarray(0, length))
  } finally {
    closeSync(descriptor)
  }
}
