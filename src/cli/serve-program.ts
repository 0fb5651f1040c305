// The words of `glovebox serve` and `glovebox token`. Loaded only for those who use them, and what they do when they are called.
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { ServeFlags } from './commands/serve.ts'
import type { TokenFlags } from './commands/token.ts'
import { parseAllowedHost, parseAllowedOrigin } from './host-text.ts'
import type { ProgramOptions } from './program.ts'
import { parseDurationMs } from './units.ts'

const serveExamples = `Examples:
  $ glovebox serve
  $ glovebox serve --port 0 --data ./server --token-file token.txt
  $ DATABASE_URL=postgres://glovebox@db/glovebox glovebox serve --host 0.0.0.0 --allow-host sandbox.example:8443
`

const tokenExamples = `Examples:
  $ glovebox token create ci --scope exec --project demo --expires 30d
  $ glovebox token list
  $ glovebox token revoke tok_0198…
`

const collect = (text: string, before: readonly string[] = []): readonly string[] => [...before, text]
const collectHost = (text: string, before?: readonly string[]): readonly string[] =>
  collect(parseAllowedHost(text), before)
const collectOrigin = (text: string, before?: readonly string[]): readonly string[] =>
  collect(parseAllowedOrigin(text), before)
const duration =
  (flag: string) =>
  (text: string): number =>
    parseDurationMs(text, flag)

/** Fills the word `serve` of the program. */
export function addServe(command: Command, options: ProgramOptions): void {
  command
    .description(
      `Serves sandboxes, runs and execs over HTTP. Every request needs a token, but for /healthz, /readyz and /docs; the first start makes one and prints it once.

Ends in good order on SIGTERM or Ctrl-C: what runs is given --grace to come to its end. A second signal does not wait.`,
    )
    .addHelpText('before', serveExamples)
    .option('--host <address>', 'listen there', '127.0.0.1')
    .option('--port <number>', 'listen there; 0 takes any that is free', readPort, 4177)
    .option('--socket <file>', "listen on a socket file of the operator's alone, instead of a port")
    .option(
      '--data <directory>',
      'projects and runs lie there (default: $GLOVEBOX_DATA_DIR, else ~/.local/share/glovebox)',
    )
    .option('--config <file>', 'the settings file (default: the nearest glovebox.yaml)')
    .option('--backend <name>', 'offer it to callers; may be repeated, the first is the default', collect)
    .option('--allow-host <name>', 'a further Host of this server, as callers write it; may be repeated', collectHost)
    .option(
      '--allow-origin <origin>',
      'a web page that may use this server, as https://console.example; may be repeated',
      collectOrigin,
    )
    .addOption(
      new Option('--grace <duration>', 'what runs is given so long when the server ends')
        .argParser(duration('--grace'))
        .default(30_000, '30s'),
    )
    .option('--limit <name=number>', 'move a limit of the server; may be repeated', collectLimit)
    .option('--token-file <file>', 'write the first token there, readable by its owner alone, and do not print it')
    .addOption(
      new Option('--log-level <level>', 'of the JSON lines on standard error')
        .choices(['debug', 'info', 'warn', 'error', 'silent'])
        .default('info'),
    )
    .option('--json', 'print what was started as one JSON object')
    .option('--debug', 'show stack traces')
    .action((flags: ServeFlags) => {
      options.choose({ flags, run: async (doing) => (await import('./commands/serve.ts')).serveCommand(flags, doing) })
    })
}

/** Fills the word `token` of the program. */
export function addToken(command: Command, options: ProgramOptions): void {
  command
    .description(
      'Makes, lists and revokes the tokens of the server whose state this is: $GLOVEBOX_STATE_DIR, or DATABASE_URL.',
    )
    .addHelpText('before', tokenExamples)
  const flagged = (each: Command): Command => each.option('--json', 'print JSON').option('--debug', 'show stack traces')
  flagged(
    command
      .command('create')
      .description('Makes a token and prints it; only its hash is kept, so it is shown this once.')
      .argument('<name>', 'for people: who or what uses it'),
  )
    .addOption(
      new Option('--scope <scope>', 'what it may do; each includes the one before it')
        .choices(['read', 'exec', 'admin'])
        .default('exec'),
    )
    .option('--project <id>', 'only this project (default: every project)')
    .option('--expires <duration>', 'its life, for example 30d (default: until it is revoked)', duration('--expires'))
    .action((name: string, flags: TokenFlags) => {
      options.choose({
        flags,
        run: async (doing) => (await import('./commands/token.ts')).token.create(name, flags, doing),
      })
    })
  flagged(command.command('list').description('Lists all tokens, newest first; none shows its secret.')).action(
    (flags: TokenFlags) => {
      options.choose({ flags, run: async (doing) => (await import('./commands/token.ts')).token.list(flags, doing) })
    },
  )
  flagged(
    command
      .command('revoke')
      .description('Revokes a token. A running server refuses it within seconds.')
      .argument('<id>', 'as `glovebox token list` prints it, or the beginning of it'),
  ).action((id: string, flags: TokenFlags) => {
    options.choose({
      flags,
      run: async (doing) => (await import('./commands/token.ts')).token.revoke(id, flags, doing),
    })
  })
}

function collectLimit(text: string, before: Readonly<Record<string, number>> = {}): Readonly<Record<string, number>> {
  const [, name, value] = /^([A-Za-z]+)=(\d{1,12})$/.exec(text) ?? []
  if (name === undefined || Number(value) < 1) throw new InvalidArgumentError('Write it as jsonBytes=65536.')
  return { ...before, [name]: Number(value) }
}

function readPort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('Give a number from 0 to 65535.')
  return Number(text)
}
