// `glovebox runs diff`: what a run changed in its workspace and deliverables, file by file, and what each single action did.
import { GloveboxError } from '../../../errors/error.ts'
import { diffActions, diffWhole, type ActionDiff, type WholeDiff } from '../../../runs/diff/diff.ts'
import { lookAtRun } from '../../../runtime/runs/look.ts'
import { jsonLine } from '../../output.ts'
import type { Doing } from '../../program.ts'
import { actionHead, fileText, gapText, nameLines, openPens, statText, summaryText, type Pens } from './diff-text.ts'
import type { DiffFlags } from './diff-flags.ts'
import { notRecovered, stateOf } from './told.ts'

export async function runsDiff(directory: string, flags: DiffFlags, doing: Doing): Promise<number> {
  refuseContradictions(flags)
  const { out, err } = doing.face
  const pens = await openPens(doing.face)
  const warnings = await warningsOf(directory)
  if (flags.each === true || flags.action !== undefined) {
    const only = flags.action === undefined ? {} : { only: flags.action }
    for await (const action of diffActions(directory, only)) {
      await out.write(flags.json === true ? jsonLine(action) : actionText(action, flags, pens))
      if (flags.json !== true) await err.write(gapText(action.gaps, pens))
      if (!out.open) return 0
    }
    await err.write(gapText(warnings, pens))
    return 0
  }
  const whole = await diffWhole(directory)
  const gaps = [...warnings, ...whole.gaps]
  if (flags.json === true) {
    await out.write(jsonLine({ ...whole, complete: gaps.length === 0, gaps }))
    return 0
  }
  await out.write(bodyText(whole, flags, pens))
  await err.write(gapText(gaps, pens))
  return 0
}

function refuseContradictions({ each, action, stat, nameOnly, json }: DiffFlags): void {
  const refuse = (one: string, other: string): never => {
    throw new GloveboxError('INVALID_INPUT', `Cannot show the diff: ${one} and ${other} ask for different things`, {
      hint: `Leave one of them out.`,
    })
  }
  if (each === true && action !== undefined) refuse('--each', '--action')
  if (stat === true && nameOnly === true) refuse('--stat', '--name-only')
  if (json === true && (stat === true || nameOnly === true)) refuse('--json', stat === true ? '--stat' : '--name-only')
}

/** What the record of changes itself cannot know. */
async function warningsOf(directory: string): Promise<readonly string[]> {
  const look = await lookAtRun(directory)
  if (look.damage !== null) return [`The log is damaged: ${look.damage}. What follows is from before that.`]
  if (look.isCrashed) return [`The run has ${notRecovered}: what its last action changed may be missing.`]
  if (look.pid !== null) return [`The run is ${stateOf(look)}: this is what it has changed so far.`]
  return []
}

function actionText(action: ActionDiff, flags: DiffFlags, pens: Pens): string {
  if (flags.nameOnly === true) return nameLines(action.files)
  return `${actionHead(action, pens)}${bodyText(action, flags, pens)}\n`
}

function bodyText({ files, summary }: Pick<WholeDiff, 'files' | 'summary'>, flags: DiffFlags, pens: Pens): string {
  if (flags.nameOnly === true) return nameLines(files)
  const sum = `${pens.dim(summaryText(summary, pens))}\n`
  if (flags.stat === true) return `${statText(files, pens)}${sum}`
  const isFull = flags.full === true
  return `${files.map((file) => `${fileText(file, { pens, isFull })}\n`).join('')}${sum}`
}
