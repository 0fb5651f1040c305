// The flags that describe a sandbox, the same for every command. On the command line the person is the operator, so
// each flag is a layer of settings, and `explain` names the flag that set a value.
import { type Command, Option } from 'commander'
import type { OperatorPolicy, PolicyLayer } from '../contract/policy.ts'
import type { SecretUse } from '../contract/vault.ts'
import { GloveboxError } from '../errors/error.ts'
import { didYouMean } from '../errors/suggest.ts'
import { parseMountText, type MountRequest } from '../runtime/mount-text.ts'
import { collectSecret, namesOf } from './secret-text.ts'
import { parseCores, parseCount, parseDurationMs, parseMebibytes, parseSizeBytes } from './units.ts'

/** As commander hands them over: parsed, and absent where not given. */
export interface SandboxFlags {
  readonly backend?: string
  readonly mount?: readonly MountRequest[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly secret?: readonly SecretUse[]
  readonly vaults?: string
  readonly net?: 'none' | 'full'
  readonly timeout?: number
  readonly memory?: number
  readonly cpus?: number
  readonly pids?: number
  readonly maxStdout?: number
  readonly policy?: string
  readonly server?: string
  readonly tokenFile?: string
  readonly json?: boolean
  readonly debug?: boolean
}

/** For commands whose work a server can do. */
export function addServerFlags(command: Command): Command {
  return command
    .option('--server <url>', 'let a Glovebox server do it (default: $GLOVEBOX_SERVER)')
    .option(
      '--token-file <file>',
      'the token for the server (default: $GLOVEBOX_TOKEN, or the file $GLOVEBOX_TOKEN_FILE)',
    )
}

export interface FlagChoice {
  /** Names of flags that this command has not. */
  readonly without?: readonly string[]
}

export function addSandboxFlags(command: Command, directory: string, { without = [] }: FlagChoice = {}): Command {
  const collectMount = (text: string, before: readonly MountRequest[] = []): readonly MountRequest[] => [
    ...before,
    parseMountText(text, directory),
  ]
  const options = [
    new Option('--backend <name>', 'what makes the boundary (default: the strongest that this host has)'),
    new Option(
      '--mount <guest=host[:mode]>',
      'make a host path visible; mode is rw, ro or vault; may be repeated',
    ).argParser(collectMount),
    new Option('--cwd <guest-path>', 'where the command starts'),
    new Option('--env <name=value>', "set a variable of the guest's; may be repeated").argParser(collectEnvironment),
    new Option(
      '--secret <vault/name[=variable|:file]>',
      'give the command a secret: as a variable, or as a file below /run/secrets; may be repeated',
    ).argParser(collectSecret),
    new Option('--vaults <file>', 'vaults as YAML or JSON, as below "vaults:" in the settings file'),
    new Option('--net <mode>', 'none or full').argParser(parseNetwork),
    new Option('--timeout <duration>', 'end the command after 500ms, 60s, 2m').argParser(
      reader('--timeout', parseDurationMs),
    ),
    new Option('--memory <size>', 'memory of the whole tree: 512m, 1g').argParser(reader('--memory', parseMebibytes)),
    new Option('--cpus <number>', 'cores of the whole tree: 0.5, 2').argParser(reader('--cpus', parseCores)),
    new Option('--pids <number>', 'processes and threads at one time').argParser(reader('--pids', parseCount)),
    new Option('--max-stdout <size>', 'keep this much of the output: 64k, 1m').argParser(
      reader('--max-stdout', parseSizeBytes),
    ),
    new Option('--policy <file>', 'a policy as YAML or JSON, laid over the settings file'),
    new Option('--json', 'print one JSON object'),
    new Option('--debug', 'show stack traces'),
  ]
  for (const option of options) if (!without.includes(option.name())) command.addOption(option)
  return command
}

/** One layer for each flag that was given, so that each value can name its own source. */
export function flagLayers(flags: SandboxFlags): readonly PolicyLayer[] {
  const given: readonly (readonly [string, OperatorPolicy | undefined])[] = [
    ['--net', flags.net === undefined ? undefined : { network: { mode: flags.net } }],
    ['--timeout', flags.timeout === undefined ? undefined : { timeoutMs: flags.timeout }],
    ['--memory', flags.memory === undefined ? undefined : { memoryMb: flags.memory }],
    ['--cpus', flags.cpus === undefined ? undefined : { cpuCores: flags.cpus }],
    ['--pids', flags.pids === undefined ? undefined : { pids: flags.pids }],
    ['--max-stdout', flags.maxStdout === undefined ? undefined : { maxStdoutBytes: flags.maxStdout }],
    ['--secret', flags.secret === undefined ? undefined : { secrets: namesOf(flags.secret) }],
  ]
  return given.flatMap(([source, values]) => (values === undefined ? [] : [{ layer: 'settings', source, values }]))
}

export function collectEnvironment(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const equals = text.indexOf('=')
  if (equals <= 0) {
    throw new GloveboxError('INVALID_INPUT', `Cannot read --env: "${text}" has no name and value.`, {
      hint: `Write --env NAME=value. To pass a variable of your own, write --env "NAME=$NAME".`,
    })
  }
  // A plain assignment of "__proto__" would set a prototype instead of a variable.
  return Object.fromEntries([...Object.entries(before), [text.slice(0, equals), text.slice(equals + 1)]])
}

const networks = ['none', 'full'] as const

function parseNetwork(text: string): 'none' | 'full' {
  const mode = networks.find((known) => known === text)
  if (mode !== undefined) return mode
  throw new GloveboxError('INVALID_INPUT', `Cannot read --net: "${text}" is not a network mode.`, {
    hint: didYouMean(text, networks),
  })
}

function reader(flag: string, parse: (text: string, flag: string) => number): (text: string) => number {
  return (text) => parse(text, flag)
}
