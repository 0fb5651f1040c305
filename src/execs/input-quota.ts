// How much a project may have in `inputs/`. Nobody but the operator takes anything away from there, so that one caller could fill the
// disk of all, one request after the other.
import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { GloveboxError } from '../errors/error.ts'
import { isErrno } from '../paths/refusal.ts'
import type { CheckedInput } from './inputs.ts'
import { inputsPlace } from './layout.ts'

export interface InputLimits {
  readonly maxInputBytes: number
  readonly maxInputFiles: number
}

export interface InputQuota {
  /** Throws QUOTA_EXCEEDED. What is admitted counts from then on, also while it waits for its exec to begin. */
  admit(project: string, inputs: readonly CheckedInput[]): Promise<void>
}

interface Held {
  readonly lookedAt: number
  bytes: number
  files: number
}

/** What other servers bring, and what the operator takes away, is seen with the next look. */
const lookAgainMs = 60_000
const mostProjects = 4096

export function openInputQuota(root: string, limits: InputLimits): InputQuota {
  const projects = new Map<string, Promise<Held>>()
  const look = (project: string): Promise<Held> => {
    const looking = count(inputsPlace(root, project), limits).catch((error: unknown) => {
      projects.delete(project)
      throw error
    })
    projects.set(project, looking)
    const [oldest] = projects.keys()
    if (projects.size > mostProjects && oldest !== undefined) projects.delete(oldest)
    return looking
  }
  const heldBy = async (project: string): Promise<Held> => {
    const known = await projects.get(project)
    return known !== undefined && performance.now() - known.lookedAt < lookAgainMs ? known : look(project)
  }
  return {
    async admit(project, inputs) {
      if (inputs.length === 0) return
      const bytes = inputs.reduce((sum, each) => sum + each.bytes.length, 0)
      const fits = (held: Held): boolean =>
        held.bytes + bytes <= limits.maxInputBytes && held.files + inputs.length <= limits.maxInputFiles
      let held = await heldBy(project)
      // What replaces another counts twice until the next look.
      if (!fits(held)) held = await look(project)
      if (!fits(held))
        throw new GloveboxError(
          'QUOTA_EXCEEDED',
          `Cannot take the inputs: a project may have ${limits.maxInputFiles} files and ${limits.maxInputBytes} bytes of them`,
          {
            hint: 'Use another project, or have the operator remove what is no longer needed from its inputs/, or set max_input_bytes and max_input_files.',
            facts: { fields: ['inputs'] },
          },
        )
      held.bytes += bytes
      held.files += inputs.length
    },
  }
}

/** As far as the limits go; what is beyond them need not be known. */
async function count(directory: string, limits: InputLimits): Promise<Held> {
  const held: Held = { lookedAt: performance.now(), bytes: 0, files: 0 }
  const below = async (place: string): Promise<void> => {
    for await (const entry of await opendir(place)) {
      if (held.files > limits.maxInputFiles || held.bytes > limits.maxInputBytes) return
      const path = join(place, entry.name)
      if (entry.isDirectory()) await below(path)
      else held.bytes += await sizeOf(path)
      held.files += 1
    }
  }
  await below(directory)
  return held
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await lstat(path)).size
  } catch (error) {
    // It is just being replaced.
    if (isErrno(error, 'ENOENT')) return 0
    throw error
  }
}
