// One turn of a model: what was said so far goes out, text comes back as it is written, and at the end the calls. It
// neither retries nor runs a tool.
import type { ModelMessage, ToolSet } from 'ai'
import type { Endpoint } from './check.ts'
import { StalledError } from './faults.ts'
import { loadModel, type Sdk } from './provider.ts'
import type { ModelTool } from './tool.ts'

export type { ModelMessage } from 'ai'

export interface ModelCall {
  readonly id: string
  readonly tool: string
  readonly input: unknown
  /** Why the call could not be read. */
  readonly malformed?: string
}

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedTokens: number
  /** The provider told no numbers, and these are guessed from the length of the text. */
  readonly estimated: boolean
}

export interface Turn {
  readonly text: string
  readonly calls: readonly ModelCall[]
  /** What the model said, as it is sent back with the next turn. */
  readonly messages: readonly ModelMessage[]
  readonly usage: Usage
  readonly finish: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other'
}

export interface TurnRequest {
  readonly system: string
  readonly messages: readonly ModelMessage[]
  readonly tools: readonly ModelTool[]
  readonly maxOutputTokens: number | undefined
  readonly idleTimeoutMs: number
  readonly signal: AbortSignal
  onText(text: string): void
}

export type TakeTurn = (request: TurnRequest) => Promise<Turn>

/** More than any model writes in one turn; a stream that never ends must not fill the memory. */
const maxCharacters = 16 * 1024 * 1024

/** Loads the SDK with the first turn. */
export function openModel(endpoint: Endpoint): TakeTurn {
  let loading: ReturnType<typeof loadModel> | undefined
  return async (request) => {
    loading ??= loadModel(endpoint)
    const { sdk, model } = await loading
    const idle = watchIdle(request.idleTimeoutMs)
    try {
      const result = sdk.streamText({
        model,
        system: request.system,
        messages: [...request.messages],
        tools: toolSet(sdk, request.tools),
        maxRetries: 0,
        abortSignal: AbortSignal.any([request.signal, idle.signal]),
        // Each turn sends all that went before it once more; Anthropic takes a tenth for what it has kept.
        providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
        // Without it the SDK prints errors on the console.
        onError: () => undefined,
        ...(request.maxOutputTokens === undefined ? {} : { maxOutputTokens: request.maxOutputTokens }),
      })
      return await readTurn(result, request, idle)
    } finally {
      idle.stop()
    }
  }
}

type StreamResult = ReturnType<Sdk['streamText']>

async function readTurn(result: StreamResult, request: TurnRequest, idle: Idle): Promise<Turn> {
  let text = ''
  let characters = 0
  const calls: ModelCall[] = []
  for await (const part of result.fullStream) {
    idle.touch()
    if (part.type === 'error') throw part.error
    if (part.type === 'abort') break
    if (part.type === 'text-delta') {
      text += part.text
      request.onText(part.text)
    }
    if (part.type === 'tool-call') calls.push(readCall(part))
    characters += lengthOf(part)
    if (characters > maxCharacters) throw new Error('the answer has no end')
  }
  request.signal.throwIfAborted()
  if (idle.signal.aborted) throw new StalledError(`nothing came for ${request.idleTimeoutMs} ms`)
  const [{ messages }, usage, finish, raw] = await Promise.all([
    result.response,
    result.totalUsage,
    result.finishReason,
    result.rawFinishReason,
  ])
  // A connection that is closed in good order before the model has finished looks like an end, but is none.
  if (finish === 'error' || raw === undefined) throw new StalledError('the answer broke off')
  return { text, calls, messages: messages.flatMap(sendable), usage: readUsage(usage, request, characters), finish }
}

/** A provider refuses a whole conversation for one odd call in it, so what goes back is a call of the proper form. */
function sendable(message: ModelMessage): readonly ModelMessage[] {
  if (message.role !== 'assistant') return []
  if (typeof message.content === 'string') return [message]
  const content = message.content.map((part) =>
    part.type === 'tool-call' ? { ...part, toolName: sendableName(part.toolName), input: asObject(part.input) } : part,
  )
  return [{ ...message, content }]
}

export const sendableName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'unnamed'

const asObject = (input: unknown): unknown =>
  typeof input === 'object' && input !== null && !Array.isArray(input) ? input : {}

const lengthOf = (part: { readonly type: string; readonly text?: unknown; readonly delta?: unknown }): number =>
  [part.text, part.delta].reduce<number>((sum, each) => sum + (typeof each === 'string' ? each.length : 0), 0)

interface CallPart {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
  readonly invalid?: boolean | undefined
}

function readCall({ toolCallId: id, toolName: tool, input, invalid }: CallPart): ModelCall {
  // Only text is left where the arguments were no JSON; an unknown tool is found out by whoever looks for it.
  return invalid === true && typeof input === 'string'
    ? { id, tool, input, malformed: 'the arguments are not valid JSON' }
    : { id, tool, input }
}

interface ToldUsage {
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly cachedInputTokens?: number | undefined
}

/** A budget must hold also where a provider tells no numbers; three characters to a token is more than most texts need. */
function readUsage(told: ToldUsage, request: TurnRequest, received: number): Usage {
  const { inputTokens, outputTokens, cachedInputTokens: cachedTokens = 0 } = told
  if (inputTokens !== undefined && outputTokens !== undefined) {
    return { inputTokens, outputTokens, cachedTokens, estimated: false }
  }
  const sent = request.system.length + JSON.stringify(request.messages).length
  return {
    inputTokens: inputTokens ?? Math.ceil(sent / 3),
    outputTokens: outputTokens ?? Math.ceil(received / 3),
    cachedTokens,
    estimated: true,
  }
}

function toolSet(sdk: Sdk, tools: readonly ModelTool[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema: { $schema: _dialect, ...schema } }) => [
      name,
      // Without `execute`, the SDK hands the calls back instead of running them; the tool itself checks its input.
      sdk.tool({ description, inputSchema: sdk.jsonSchema(schema) }),
    ]),
  )
}

interface Idle {
  readonly signal: AbortSignal
  touch(): void
  stop(): void
}

function watchIdle(timeoutMs: number): Idle {
  const stalled = new AbortController()
  const timer = setTimeout(() => stalled.abort(), timeoutMs)
  return { signal: stalled.signal, touch: () => void timer.refresh(), stop: () => clearTimeout(timer) }
}
