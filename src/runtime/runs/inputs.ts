// Files of the operator that a run starts with. They are brought in by recorded actions of the run itself, so that its log
// tells what it was given, byte by byte, and a replay brings them in again. For a few files: what is large is better mounted
// read-only.
import { accessSync, constants, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Sandbox } from '../../contract/sandbox.ts'
import { GloveboxError } from '../../errors/error.ts'
import { isErrno } from '../../paths/refusal.ts'

const limits = { files: 2000, bytes: 64 * 1024 * 1024, depth: 50 }
const executable = 0o100

export interface Input {
  /** Below the workspace. */
  readonly name: string
  readonly hostPath: string
  readonly bytes: number
  readonly isExecutable: boolean
}

/** Looked at before a run is made: what cannot be brought in is refused then. */
export function surveyInputs(hostPaths: readonly string[]): readonly Input[] {
  const inputs = hostPaths.flatMap((hostPath) => [...inputsBelow(hostPath, basename(hostPath), 0)])
  const total = inputs.reduce((sum, { bytes }) => sum + bytes, 0)
  if (inputs.length > limits.files || total > limits.bytes) throw tooMuch(inputs.length, total)
  const names = inputs.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw refuse(twice, 'two of them have the same name', 'Rename one of them.')
  return inputs
}

function* inputsBelow(hostPath: string, name: string, depth: number): Generator<Input> {
  const seen = look({ name, hostPath }, () => lstatSync(hostPath))
  if (seen.isFile()) {
    look({ name, hostPath }, () => accessSync(hostPath, constants.R_OK))
    yield { name, hostPath, bytes: seen.size, isExecutable: (seen.mode & executable) !== 0 }
  } else if (seen.isDirectory() && depth < limits.depth) {
    for (const entry of look({ name, hostPath }, () => readdirSync(hostPath)).toSorted())
      yield* inputsBelow(join(hostPath, entry), `${name}/${entry}`, depth + 1)
  } else {
    throw refuse(name, 'it is neither a file nor a directory', 'Name the files themselves; links are not followed.')
  }
}

function look<Seen>({ name, hostPath }: Pick<Input, 'name' | 'hostPath'>, ask: () => Seen): Seen {
  try {
    return ask()
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) throw refuse(name, 'it does not exist', beginnings, hostPath)
    if (!isErrno(error)) throw error
    throw refuse(name, 'it cannot be read', permissions, (error as Error).message)
  }
}

const permissions = 'Look at its permissions, and at those of what leads to it.'
const beginnings =
  'A path of --input begins at the current directory, and one in the settings file at the directory of that file.'

export async function bringIn(inputs: readonly Input[], sandbox: Sandbox): Promise<void> {
  for (const { name, hostPath } of inputs) await sandbox.files.write(`/workspace/${name}`, readFileSync(hostPath))
  const programs = inputs.filter(({ isExecutable }) => isExecutable).map(({ name }) => `/workspace/${name}`)
  if (programs.length === 0) return
  const { exitCode } = await sandbox.commands.run(['chmod', '+x', '--', ...programs])
  if (exitCode !== 0) throw refuse(programs[0] ?? '', 'it could not be made executable', 'Call it by its interpreter.')
}

const refuse = (name: string, cause: string, hint: string, operatorDetail?: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot bring ${name} into the run: ${cause}.`, {
    hint,
    ...(operatorDetail === undefined ? {} : { operatorDetail }),
  })

const tooMuch = (files: number, bytes: number): GloveboxError =>
  new GloveboxError('TOO_LARGE', `Cannot bring the inputs into the run: ${files} files with ${bytes} bytes`, {
    hint: `At most ${limits.files} files with ${limits.bytes} bytes. Mount the directory read-only instead: mounts: [/data=DIR:ro]`,
  })
