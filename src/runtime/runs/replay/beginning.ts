// With what the workspace of a run began. That of most is empty, and what they were given came in by actions. A fork began
// where another run was: its replay is a fork of that run at the same event, copied, so that it stands alone.
import { dirname, resolve } from 'node:path'
import { GloveboxError } from '../../../errors/error.ts'
import { findFork } from '../../../runs/fork/record.ts'
import { verifyRun } from '../../../runs/verify.ts'
import { listPlaces } from '../find.ts'
import { prepareFork } from '../fork.ts'
import type { RunRequest } from '../request.ts'
import type { Original } from './original.ts'

export interface NewPlace {
  readonly runId: string
  readonly sandboxPath: string
}

export type Begin = Pick<RunRequest, 'forkedFrom' | 'beginning'>

export async function beginAgain(original: Original, { runId, sandboxPath }: NewPlace): Promise<Begin> {
  const origin = original.record.forked_from
  if (origin === null) return {}
  const fork = findFork(original.directory)
  if (fork === undefined) throw refuse('its archive/fork.json is missing', 'Nothing else says where it began.')
  const layer = fork.layers.find(({ run_id: id }) => id === origin.run_id)
  const places = layer === undefined ? [] : [resolve(original.directory, layer.relative), layer.directory]
  const parent = findParent(origin.run_id, original, places)
  const { ok, findings } = await verifyRun(parent)
  if (!ok) {
    throw new GloveboxError(
      'RECORD_DAMAGED',
      `Cannot replay the run: ${origin.run_id}, from which it was forked, is not as it was recorded`,
      {
        hint: '`glovebox runs verify` tells everything that is wrong with it.',
        operatorDetail: findings.map(({ subject, detail }) => `${subject}: ${detail}`).join('\n'),
      },
    )
  }
  const { plan, identity } = await prepareFork({
    directory: parent,
    at: { seq: origin.seq },
    runId,
    sandboxPath,
    method: 'copy',
  })
  if (plan.record.event_hash !== fork.event_hash) {
    throw refuse(`the log of ${origin.run_id} is not the one it was forked from`, 'Put the right run in its place.')
  }
  const { forkedFrom, beginning } = identity
  return {
    ...(forkedFrom === undefined ? {} : { forkedFrom }),
    ...(beginning === undefined ? {} : { beginning }),
  }
}

/** Where the fork says that it was, else beside the fork. */
function findParent(runId: string, { directory }: Original, places: readonly string[]): string {
  const beside = places.flatMap((place) => runsIn(dirname(place)))
  const found = [...beside, ...runsIn(dirname(directory))].find((place) => place.runId === runId)
  if (found !== undefined) return found.directory
  throw new GloveboxError('NOT_FOUND', `Cannot replay the run: ${runId}, from which it was forked, is gone`, {
    hint: 'Put its directory beside the fork, and try again.',
  })
}

function runsIn(root: string): ReturnType<typeof listPlaces>['runs'] {
  try {
    return listPlaces({ directory: root, root }).runs
  } catch (error) {
    if (error instanceof GloveboxError) return []
    throw error
  }
}

const refuse = (cause: string, hint: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot replay the run: ${cause}`, { hint })
