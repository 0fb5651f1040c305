// Asks for one turn, and again where the failure may pass. Every repetition is in the log; the last failure ends the work.
import { setTimeout as sleep } from 'node:timers/promises'
import { readFault, retryDelay, type Fault } from './faults.ts'
import { Ending, failed, note, say, type Session } from './session.ts'
import { remark, said } from './transcript.ts'
import type { Turn } from './turn.ts'

export async function askForTurn(session: Session, step: number): Promise<Turn> {
  for (let retried = 0; ; retried++) {
    const heard: string[] = []
    try {
      return await takeTurn(session, heard)
    } catch (error) {
      if (error instanceof Ending) throw error
      endLine(session, heard)
      // What was heard of a broken turn is told, but not sent back: the model begins the turn anew.
      say(session, said(heard.join('')))
      session.clock.signal.throwIfAborted()
      const fault = readFault(error, session.clean, Date.now())
      const waitMs = retryDelay(fault, retried, session.options, Math.random())
      if (waitMs === undefined) throw givenUp(fault, retried, session)
      await waitToRetry(session, { step, fault, waitMs })
    }
  }
}

async function takeTurn(session: Session, heard: string[]): Promise<Turn> {
  const { options } = session
  const turn = await session.takeTurn({
    system: session.system,
    messages: session.messages,
    tools: [...session.tools.values()],
    maxOutputTokens: options.maxOutputTokens,
    idleTimeoutMs: options.idleTimeoutMs,
    signal: session.clock.signal,
    onText(text) {
      heard.push(text)
      session.assignment.show({ kind: 'text', text: session.clean(text) })
    },
  })
  endLine(session, heard)
  say(session, said(turn.text))
  return turn
}

/** What comes next on the terminal begins on a line of its own. */
function endLine({ assignment }: Session, heard: readonly string[]): void {
  if (heard.length > 0 && heard.at(-1)?.endsWith('\n') === false) assignment.show({ kind: 'text', text: '\n' })
}

interface Repetition {
  readonly step: number
  readonly fault: Fault
  readonly waitMs: number
}

async function waitToRetry(session: Session, { step, fault, waitMs }: Repetition): Promise<void> {
  session.tally.retries++
  const summary = `The provider failed (${told(fault)}); asking again in ${waitMs} ms`
  say(session, remark(summary))
  session.assignment.show({ kind: 'text', text: `${summary}.\n` })
  await note(session, {
    type: 'model_retry',
    severity: 'warning',
    summary,
    data: { step, wait_ms: waitMs, status: fault.status ?? null, cause: fault.message },
  })
  await sleep(waitMs, undefined, { signal: session.clock.signal })
}

function givenUp(fault: Fault, retried: number, { options }: Session): Error {
  const tries = retried === 0 ? '' : ` after ${retried + 1} attempts`
  const tooLong =
    fault.passing && fault.retryAfterMs !== undefined && fault.retryAfterMs > options.maxRetryDelayMs
      ? `; it asks to wait ${Math.ceil(fault.retryAfterMs / 1000)} s`
      : ''
  const refused = fault.status === 401 || fault.status === 403 ? '. Check the key and what it may be used for' : ''
  return failed('provider_error', `The provider failed${tries}: ${told(fault)}${tooLong}${refused}.`)
}

const told = ({ status, message }: Fault): string => {
  const words = message.replace(/\.$/, '')
  return status === undefined || words.includes(String(status)) ? words : `${status}: ${words}`
}
