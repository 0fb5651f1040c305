// What archive/fork.json says of a run, and where its layers are now.
import { readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { forkRecordSchema, type ForkLayer, type ForkRecord } from '../../contract/fork.ts'
import { GloveboxError, isGloveboxError } from '../../errors/error.ts'
import { isErrno } from '../../paths/refusal.ts'
import { forkFile, placeIn } from '../layout.ts'
import { findRunJson } from '../reader.ts'

/** Undefined for a run that is no fork. */
export function findFork(directory: string): ForkRecord | undefined {
  const text = findText(join(directory, forkFile))
  if (text === undefined) return undefined
  const parsed = forkRecordSchema.safeParse(parseOrUndefined(text))
  if (parsed.success) return parsed.data
  throw new GloveboxError('RECORD_DAMAGED', `Cannot read the run: ${forkFile} is not of its schema`)
}

/** Host paths of what lies under the workspace, nearest first. Empty for a run that stands alone. */
export function layersUnder(directory: string, fork: ForkRecord | undefined = findFork(directory)): readonly string[] {
  return fork === undefined ? [] : fork.layers.map((layer) => join(runDirectory(directory, layer), layer.place))
}

/** For who must go on without them, and says that they were missing. */
export function layersOrGone(directory: string): readonly string[] | 'gone' {
  try {
    return layersUnder(directory)
  } catch (error) {
    if (isGloveboxError(error)) return 'gone'
    throw error
  }
}

/** Where the overlay of a fork does its half-done work. */
export const workIn = (directory: string): string => join(placeIn(directory, 'archive'), 'overlay-work')

type LayerAnywhere = Omit<ForkLayer, 'relative'>

/** The whole stack for a run that begins where this one is. What this one stood on has to be as it was for this one. */
export function stackOf(directory: string, runId: string, forkedAt: string): readonly LayerAnywhere[] {
  const below = findFork(directory)?.layers ?? []
  return [
    { run_id: runId, directory: resolve(directory), place: 'workspace', unchanged_since: forkedAt },
    ...below.map((layer) => ({
      run_id: layer.run_id,
      directory: runDirectory(directory, layer),
      place: layer.place,
      unchanged_since: layer.unchanged_since ?? forkedAt,
    })),
  ]
}

export const seenFrom = (directory: string, layer: LayerAnywhere): ForkLayer => ({
  ...layer,
  relative: relative(directory, layer.directory) || '.',
})

function runDirectory(directory: string, layer: ForkLayer): string {
  const places = [resolve(directory, layer.relative), layer.directory]
  const found = places.find((place) => isRun(place, layer.run_id))
  if (found !== undefined) return found
  throw new GloveboxError(
    'NOT_FOUND',
    `Cannot see the workspace of the fork: the run ${layer.run_id} below it is gone`,
    {
      hint: 'Put its directory back where it was. A fork by overlay is whole only together with the runs it was forked from.',
      operatorDetail: places.join(', '),
    },
  )
}

const isRun = (directory: string, runId: string): boolean => {
  try {
    return findRunJson(directory)?.run_id === runId
  } catch (error) {
    if (isErrno(error)) return false
    throw error
  }
}

function findText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
