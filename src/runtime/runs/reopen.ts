// Takes hold of a run that a crash may have left. While a sandbox lives, stand-ins for protected names lie in the run's
// trees; a killed process leaves them there, and the next sweep takes them away. So the sweep comes first: the manifest
// that is made when the run is ended would else speak of files that are nobody's and will be gone.
import { readFileSync } from 'node:fs'
import { sandboxManifestSchema } from '../../contract/artifact.ts'
import type { BackendName } from '../../contract/backend.ts'
import { isGloveboxError } from '../../errors/error.ts'
import { findInstallation } from '../../process/installation.ts'
import { sweepScratch } from '../../process/scratch.ts'
import { placeIn } from '../../runs/layout.ts'
import { openRun, type OpenedRun, type OpenRunOptions } from '../../runs/open.ts'
import { openBackendHere } from '../backends-here.ts'
import { defaultBackend } from '../create.ts'
import { membersIn } from '../pool/place.ts'
import { stateHome } from '../state.ts'
import { lookAtRun } from './look.ts'

export async function reopenRun(directory: string, options: OpenRunOptions = {}): Promise<OpenedRun> {
  const { isCrashed } = await lookAtRun(directory)
  if (isCrashed) await sweep(directory)
  return openRun(directory, options)
}

/** A backend sweeps when it is opened, and closes when it has swept. One that does not work here has left nothing here. */
async function sweep(directory: string): Promise<void> {
  for (const name of backendsOf(directory)) {
    try {
      const backend = await openBackendHere(name)
      await backend.close?.()
    } catch (error) {
      if (!isGloveboxError(error)) throw error
    }
  }
  // Their HOMEs, in which a login may lie; not before what ran in them.
  sweepScratch(membersIn(stateHome()))
}

/** A sandbox may have been left before it was written down which backend it was to be of. Containers go before what they hold. */
function backendsOf(directory: string): readonly BackendName[] {
  const known = backendOf(directory)
  if (known !== undefined) return [known]
  return findInstallation(stateHome()) === undefined ? [defaultBackend()] : ['docker', defaultBackend()]
}

/** Undefined when the run came to its end before its sandbox was written down. */
function backendOf(directory: string): BackendName | undefined {
  try {
    const text = readFileSync(placeIn(directory, 'sandbox-manifest.json'), 'utf8')
    return sandboxManifestSchema.parse(JSON.parse(text)).backend ?? undefined
  } catch {
    // Whether the manifest is what it was is the verifier's question.
    return undefined
  }
}
