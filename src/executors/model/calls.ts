// Performs the calls of one turn, one after the other and in their order, so that a record of them can be repeated. A call
// that cannot be understood, or that is refused, is answered with the reason: the model can mend it.
import { suggest } from '../../errors/suggest.ts'
import { failed, note, say, type Session } from './session.ts'
import { errorCodeOf, misuse, type ModelToolResult } from './tool.ts'
import { aboutOf, answeredText, calledText } from './transcript.ts'
import { sendableName, type ModelCall, type ModelMessage } from './turn.ts'

export async function performCalls(session: Session, step: number, calls: readonly ModelCall[]): Promise<ModelMessage> {
  const content: Extract<ModelMessage, { role: 'tool' }>['content'] = []
  for (const call of calls) {
    const { text, isError } = await performCall(session, step, call)
    content.push({
      type: 'tool-result',
      toolCallId: call.id,
      toolName: sendableName(call.tool),
      output: { type: isError ? 'error-text' : 'text', value: text },
    })
  }
  return { role: 'tool', content }
}

async function performCall(session: Session, step: number, call: ModelCall): Promise<ModelToolResult> {
  const { assignment, clean, clock, tally } = session
  const tool = clean(call.tool).slice(0, 100)
  const about = clean(aboutOf(call.input))
  const number = ++tally.calls
  say(session, calledText({ tool, input: call.input }))
  await note(session, { type: 'tool_called', summary: `${tool} ${about}`, data: { step, call: number, tool, about } })
  assignment.show({ kind: 'tool_started', tool, about })
  const begun = performance.now()
  const result = await answer(session, call)
  const ok = !result.isError
  assignment.show({ kind: 'tool_ended', tool, about, ok })
  say(session, answeredText(ok, result.text))
  const code = errorCodeOf(result) ?? null
  await note(session, {
    type: 'tool_answered',
    severity: ok ? 'info' : 'warning',
    summary: ok ? `${tool} answered` : `${tool} refused: ${code ?? ''}`,
    data: {
      step,
      call: number,
      tool,
      ok,
      error: code,
      characters: result.text.length,
      duration_ms: Math.round(performance.now() - begun),
    },
  })
  clock.signal.throwIfAborted()
  countMistake(session, code)
  return result
}

async function answer({ tools, clock }: Session, call: ModelCall): Promise<ModelToolResult> {
  if (call.malformed !== undefined) return misuse(`Cannot call ${sendableName(call.tool)}: ${call.malformed}`)
  const tool = tools.get(call.tool)
  if (tool !== undefined) return tool.run(call.input, { signal: clock.signal })
  const near = suggest(call.tool, [...tools.keys()])
  const known = near === undefined ? `There are: ${[...tools.keys()].join(', ')}` : `Did you mean ${near}?`
  return misuse(`Cannot call ${sendableName(call.tool)}: there is no such tool. ${known}`)
}

/** A model that makes the same mistake for ever would use up the budget for nothing. */
function countMistake({ tally, options }: Session, code: string | null): void {
  tally.mistakes = code === 'INVALID_INPUT' ? tally.mistakes + 1 : 0
  if (tally.mistakes >= options.maxMistakes) {
    throw failed('malformed_calls', `The model made ${tally.mistakes} calls in a row that could not be understood.`)
  }
}
