// The model executor at work in a real sandbox, on an assignment that keeps in memory what a run keeps in its directory.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { EventInput } from '../../src/contract/event.ts'
import type { Assignment, Outcome, Progress, Question } from '../../src/contract/executor.ts'
import type * as executorDoor from '../../src/executors/model/executor.ts'
import { modelOptionsSchema } from '../../src/executors/model/options.ts'
import type * as libraryDoor from '../../src/index.ts'
import { makeProject } from './command-line.ts'

const built = (path: string): string => new URL(`../../dist/${path}`, import.meta.url).href

export const secretKey = 'sk-scripted-0123456789'

export interface Given {
  readonly url: string
  readonly prompt?: string
  /** Laid over a model at `url` that is retried without much delay. */
  readonly model?: Readonly<Record<string, unknown>>
  readonly deliverables?: readonly string[]
  readonly answer?: (question: Question, work: Working) => Promise<string>
  /** Called with everything that is shown, as it is shown. */
  readonly watch?: (progress: Progress, work: Working) => void
}

export interface Working {
  readonly workspace: string
  readonly deliverables: string
  readonly events: readonly EventInput[]
  readonly shown: readonly Progress[]
  readonly sandbox: libraryDoor.Sandbox
  cancel(): void
}

export interface Worked extends Working, AsyncDisposable {
  readonly outcome: Outcome
  readonly transcript: string
  readonly systemPrompt: string
  /** Everything that a run would keep, in one text. */
  readonly records: string
  ofType(type: string): readonly EventInput[]
}

export async function workOn(given: Given): Promise<Worked> {
  const { Sandbox, tools } = (await import(built('index.js'))) as typeof libraryDoor
  const { createModelExecutor } = (await import(built('executors/model/executor.js'))) as typeof executorDoor
  const executor = createModelExecutor({
    options: modelOptionsSchema.parse({ baseUrl: given.url, model: 'scripted', retryDelayMs: 20, ...given.model }),
    apiKey: secretKey,
    tools: (sandbox) => tools(sandbox),
    ...(given.deliverables === undefined ? {} : { deliverables: given.deliverables }),
  })
  const project = makeProject()
  const [workspace, deliverables] = [join(project.outside, 'workspace'), join(project.outside, 'deliverables')]
  for (const directory of [workspace, deliverables]) mkdirSync(directory)
  const sandbox = await Sandbox.create({
    mounts: [
      { guestPath: '/workspace', hostPath: workspace, mode: 'rw' },
      { guestPath: '/deliverables', hostPath: deliverables, mode: 'rw' },
    ],
  })
  const events: EventInput[] = []
  const shown: Progress[] = []
  const ending = new AbortController()
  const working: Working = { workspace, deliverables, events, shown, sandbox, cancel: () => ending.abort() }
  let transcript = ''
  let systemPrompt = ''
  const assignment: Assignment = {
    prompt: given.prompt ?? 'Do the work.',
    sandbox,
    signal: ending.signal,
    say: (text) => void (transcript += text),
    note: async (event) => void events.push(event),
    recordSystemPrompt: async (text) => void (systemPrompt = text),
    ask: async (question) => given.answer?.(question, working) ?? Promise.reject(new Error('nobody was to be asked')),
    show(progress) {
      shown.push(progress)
      given.watch?.(progress, working)
    },
  }
  const dispose = async (): Promise<void> => {
    await sandbox.kill()
    project.remove()
  }
  try {
    const outcome = await executor.execute(assignment)
    return {
      ...working,
      outcome,
      transcript,
      systemPrompt,
      records: JSON.stringify([events, shown, outcome]) + transcript + systemPrompt,
      ofType: (type) => events.filter((event) => event.type === type),
      [Symbol.asyncDispose]: dispose,
    }
  } catch (error) {
    await dispose()
    throw error
  }
}
