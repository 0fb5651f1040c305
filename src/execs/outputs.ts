// Both outputs of an exec on disk, for whoever is at work on it.
import { randomBytes } from 'node:crypto'
import { closeSync, constants, existsSync, openSync, renameSync, rmSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ExecRow } from '../contract/store.ts'
import { syncFile } from '../paths/content.ts'
import { execPlace, recordPlace, type ExecName } from './layout.ts'
import { openOutput, type OutputFile } from './output-file.ts'

export interface Outputs {
  readonly stdout: OutputFile
  readonly stderr: OutputFile
  close(): void
}

export interface OutputsOptions {
  readonly root: string
  readonly row: ExecRow
  /** It ran before it came to us, and another server wrote what is there. */
  readonly goesOn: boolean
  readonly onGrown: () => void
  readonly log: (about: string, error: unknown) => void
}

export type OutputName = 'stdout' | 'stderr'
const outputNames = ['stdout', 'stderr'] as const

/** That there was more than is kept. A server that dies takes that along otherwise, and what is as long as its limit may be whole. */
const cutMark = (root: string, name: ExecName, output: OutputName): string =>
  join(execPlace(root, name), `.${output}-cut`)

/** As far as anybody knows. */
export const wasCut = (root: string, name: ExecName, output: OutputName): boolean =>
  existsSync(cutMark(root, name, output))

export function forgetCuts(root: string, name: ExecName): void {
  for (const output of outputNames) rmSync(cutMark(root, name, output), { force: true })
}

export async function openOutputs({ root, row, goesOn, onGrown, log }: OutputsOptions): Promise<Outputs> {
  const limitOf = (stream: OutputName): number => Number(row.policy_snapshot?.[`max_${stream}_bytes`])
  const noteCut = (stream: OutputName): void => {
    try {
      closeSync(openSync(cutMark(root, row, stream), 'w', 0o644))
    } catch (error) {
      // No command is ended for what is not kept of it.
      log(`that ${stream} of ${row.exec_id} is cut could not be noted`, error)
    }
  }
  const open = async (stream: OutputName): Promise<OutputFile> => {
    const place = recordPlace(root, row, `${stream}.txt`)
    if (goesOn) await makeOwn(place)
    return openOutput(place, {
      limitBytes: limitOf(stream),
      onGrown,
      wasCut: goesOn && wasCut(root, row, stream),
      onCut: () => noteCut(stream),
    })
  }
  const stdout = await open('stdout')
  try {
    const stderr = await open('stderr')
    return {
      stdout,
      stderr,
      close() {
        stdout.close()
        stderr.close()
      },
    }
  } catch (error) {
    stdout.close()
    throw error
  }
}

/**
 * The server that wrote it may only have been stopped. It goes on with the file that it has open, until it hears that the exec is ours;
 * every byte would be there twice. So the name is given to a copy, and what it still writes is nobody's.
 */
async function makeOwn(place: string): Promise<void> {
  if (!existsSync(place)) return
  const temporary = join(dirname(place), `.${randomBytes(12).toString('hex')}.tmp`)
  try {
    await copyFile(place, temporary, constants.COPYFILE_EXCL)
    const fd = openSync(temporary, 'r+')
    try {
      await syncFile(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(temporary, place)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}
