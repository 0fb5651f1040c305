// Which moment of a run a person means: an event by its number, or the end of an action. Between two actions the workspace
// does not change, so an event stands for the action that ended last before it.
import { actionEnded, actionEndedDataSchema } from '../../contract/recorded-action.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { ForkPoint, Parent } from '../../runs/fork/fork.ts'
import { readEvents } from '../../runs/reader.ts'

export type AskedPoint = { readonly seq: number } | { readonly action: number }

/** `12` is an event, `action:3` the end of an action; `action:0` is before the first. */
export function parsePoint(text: string): AskedPoint {
  const found = /^(?:(?:seq:)?([1-9]\d{0,14})|action:(\d{1,15}))$/.exec(text)
  if (found?.[1] !== undefined) return { seq: Number(found[1]) }
  if (found?.[2] !== undefined) return { action: Number(found[2]) }
  throw new GloveboxError('INVALID_INPUT', `Cannot read the moment "${text.slice(0, 60)}"`, {
    hint: 'Write the number of an event, as `glovebox runs events` prints it, or action:N.',
  })
}

export async function findPoint(parent: Parent, asked: AskedPoint | undefined): Promise<ForkPoint> {
  let last: ForkPoint | undefined
  let found: ForkPoint | undefined
  let lastAction = 0
  let sawAll = true
  for await (const event of readEvents(parent.directory)) {
    const ended = event.type === actionEnded ? actionEndedDataSchema.safeParse(event.data).data : undefined
    if (ended !== undefined && asked !== undefined && 'seq' in asked && event.seq > asked.seq) sawAll = false
    if (ended !== undefined && sawAll) lastAction = ended.number
    last = { seq: event.seq, eventHash: event.hash }
    const isIt =
      asked !== undefined && ('seq' in asked ? event.seq === asked.seq : matches(asked.action, ended, event.seq))
    if (isIt) found = last
  }
  if (asked === undefined && last !== undefined) return last
  if (asked === undefined || found === undefined) throw noMoment(asked, last?.seq ?? 0)
  if ('action' in asked) return { ...found, action: asked.action }
  return sawAll ? found : { ...found, action: lastAction }
}

const matches = (action: number, ended: { readonly number: number } | undefined, seq: number): boolean =>
  action === 0 ? seq === 1 : ended?.number === action

const noMoment = (asked: AskedPoint | undefined, events: number): GloveboxError =>
  new GloveboxError(
    'NOT_FOUND',
    `Cannot fork the run: it has no ${asked !== undefined && 'action' in asked ? `action ${asked.action} that ended` : 'such event'}`,
    { hint: `Its log has ${events} events: glovebox runs events` },
  )
