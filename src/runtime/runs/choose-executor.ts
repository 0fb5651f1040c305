// Who does the work: chosen by what was said on the spot, then by the settings. Never guessed: where nothing says it, or
// two things say different things, the run is refused before it exists.
import type { RunOptions } from '../../contract/exec.ts'
import type { Executor } from '../../contract/executor.ts'
import { GloveboxError } from '../../errors/error.ts'
import { createCommandExecutor } from '../../executors/command.ts'
import type { ModelOptions } from '../../executors/model/options.ts'
import type { RunSettings } from '../settings.ts'

export type ExecutorKind = 'command' | 'model'

export interface ExecutorChoice {
  /** Asked for by name, or brought along. */
  readonly asked?: ExecutorKind | Executor | undefined
  /** A command that was given on the spot. Empty: none. */
  readonly argv: readonly string[]
  readonly settings: Pick<RunSettings, 'executor' | 'model'>
}

/** As the config of the run tells it. */
export type ChosenExecutor =
  | { readonly kind: 'command'; readonly command: readonly [string, ...string[]] }
  | { readonly kind: 'model'; readonly model: ModelOptions | undefined }
  | { readonly kind: 'brought'; readonly executor: Executor }

export function chooseExecutor({ asked, argv, settings }: ExecutorChoice): ChosenExecutor {
  if (typeof asked === 'object') return { kind: 'brought', executor: asked }
  const { executor, model } = settings
  const chosen = asked ?? (argv.length > 0 ? 'command' : executor?.kind) ?? impliedBy(settings)
  if (chosen === 'model') {
    if (argv.length === 0) return { kind: 'model', model }
    throw refuse(
      'a command was given, but the executor is the model',
      'Leave out the command, or choose the executor "command".',
    )
  }
  const [program, ...rest] = argv.length > 0 ? argv : (executor?.command ?? [])
  if (chosen === 'command' && program !== undefined) return { kind: 'command', command: [program, ...rest] }
  throw refuse(
    'nothing says who does the work',
    'Give a command: behind "--" on the command line, as "command" in a request. Or set executor.command or model in glovebox.yaml.',
  )
}

const impliedBy = ({ executor, model }: ExecutorChoice['settings']): ExecutorKind | undefined =>
  executor?.command !== undefined ? 'command' : model !== undefined ? 'model' : undefined

export interface ExecutorParts {
  readonly stdin?: RunOptions['stdin']
  /** Of a command. A model asks for what it is granted, command by command. */
  readonly secrets?: RunOptions['secrets']
  /** Files that the model is told to deliver, as the guest names them. */
  readonly deliverables: readonly string[]
}

export async function openExecutor(chosen: ChosenExecutor, parts: ExecutorParts): Promise<Executor> {
  const { stdin, secrets, deliverables } = parts
  if (chosen.kind === 'brought') return chosen.executor
  if (chosen.kind === 'command')
    return createCommandExecutor({
      argv: chosen.command,
      ...(stdin === undefined ? {} : { stdin }),
      ...(secrets === undefined ? {} : { secrets }),
    })
  const { model } = chosen
  const { createModelExecutor } = await import('../../executors/model/executor.ts')
  const { keyVariable } = await import('../../executors/model/check.ts')
  const { tools } = await import('../../tools/tools.ts')
  const variable = model === undefined ? undefined : keyVariable(model)
  return createModelExecutor({
    options: model,
    apiKey: variable === undefined ? undefined : process.env[variable],
    tools: (sandbox) => tools(sandbox, model === undefined ? {} : { set: model.toolset }),
    deliverables,
  })
}

const refuse = (cause: string, hint: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot start the run: ${cause}.`, { hint })
