// Both outputs of an exec on disk, for whoever is at work on it.
import { randomBytes } from 'node:crypto'
import { closeSync, constants, existsSync, openSync, renameSync, rmSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ExecRow } from '../contract/store.ts'
import { syncFile } from '../paths/content.ts'
import { recordPlace } from './layout.ts'
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
}

export async function openOutputs({ root, row, goesOn, onGrown }: OutputsOptions): Promise<Outputs> {
  const limitOf = (stream: 'stdout' | 'stderr'): number => Number(row.policy_snapshot?.[`max_${stream}_bytes`])
  const open = async (stream: 'stdout' | 'stderr'): Promise<OutputFile> => {
    const place = recordPlace(root, row, `${stream}.txt`)
    if (goesOn) await makeOwn(place)
    return openOutput(place, { limitBytes: limitOf(stream), onGrown })
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
