// Run directories that a killed process was still building. Nobody was told of them, so they may go.
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isGloveboxError } from '../errors/error.ts'
import { isErrno } from '../paths/refusal.ts'
import { removeTreeAtOnce } from '../paths/remove-tree.ts'
import { holdRun } from './ownership.ts'

export const stagePrefix = '.glovebox-run-'
const stageName = /^\.glovebox-run-[0-9a-f]{24}$/
/** Between making a stage and locking it lie a few system calls; nobody is stopped there for an hour. */
const unlockedStageMs = 3_600_000

export function sweepStages(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (stageName.test(name)) sweepStage(join(parent, name))
  }
}

function sweepStage(stage: string): void {
  try {
    const isOld = Date.now() - statSync(stage).mtimeMs > unlockedStageMs
    if (!isOld && !isLocked(stage)) return
    holdRun(stage).release()
    removeTreeAtOnce(stage)
  } catch (error) {
    // Its owner lives, or has just published it.
    if (isGloveboxError(error) || isErrno(error)) return
    throw error
  }
}

const isLocked = (stage: string): boolean =>
  statSync(join(stage, 'logs', 'run.lock'), { throwIfNoEntry: false }) !== undefined
