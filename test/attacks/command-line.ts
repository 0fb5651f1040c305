// The command line as an operator of the attack suite has it: from the copy of the package, and on the backend that is attacked.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { attackedBackend, target, type AttackHost } from './host.ts'

/** What the settings of an operator name: on gVisor its runtime too, and the image that works on it, which no flag can say. */
export const attackedSettings = [
  `backend: ${attackedBackend}`,
  ...(target.docker === undefined ? [] : [`docker: ${JSON.stringify(target.docker)}`]),
  '',
].join('\n')

/** Leaves them in a directory above the one in which a command is given, unless a flag says all. */
export function placeSettings(directory: string): void {
  if (target.docker !== undefined) writeFileSync(join(directory, 'glovebox.yaml'), attackedSettings, { mode: 0o644 })
}

export interface CommandLine {
  readonly words: readonly [string, ...string[]]
  readonly as: { readonly uid?: number; readonly gid?: number }
}

/** `argv` without its flag for the backend. To be run in a directory below the host's own. */
export function commandLine(host: AttackHost, [command, ...rest]: readonly [string, ...string[]]): CommandLine {
  // What bin/glovebox does.
  const program = join(host.directory, 'glovebox.cjs')
  const built = join(host.packageDirectory, 'dist/cli/glovebox.cjs')
  writeFileSync(program, `void require('${built}').main(process.argv.slice(2)).then((code) => process.exit(code))\n`)
  placeSettings(host.directory)
  return {
    words: [process.execPath, program, command, '--backend', attackedBackend, ...rest],
    as: host.uid === process.getuid?.() ? {} : { uid: host.uid, gid: host.gid },
  }
}
