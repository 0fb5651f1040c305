// The commands and their help. What a command does is loaded when it is called, so that each pays for itself only.
import { Command } from 'commander'
import { addAudit } from './audit-program.ts'
import { addSandboxFlags, addServerFlags, type SandboxFlags } from './flags.ts'
import { GloveboxError } from '../errors/error.ts'
import { errorLines, type Face } from './output.ts'
import { addReindex } from './reindex-program.ts'
import { packageVersion } from './version.ts'

export interface Doing {
  readonly face: Face
  readonly directory: string
}

/** What to do once the arguments are understood. */
export interface Chosen {
  readonly flags: { readonly json?: boolean; readonly debug?: boolean }
  /** Returns the exit code. */
  run(doing: Doing): Promise<number>
}

export interface ProgramOptions {
  /** The first word of all. The words of other commands need not be known where it names one. */
  readonly first?: string | undefined
  readonly directory: string
  readonly print: { readonly out: (text: string) => void; readonly err: (text: string) => void }
  readonly choose: (chosen: Chosen) => void
}

const examples = {
  glovebox: [
    'glovebox doctor',
    'glovebox exec -- ls -la',
    "glovebox exec --timeout 5m --memory 2g -- sh -c 'npm ci && npm test'",
  ],
  exec: [
    'glovebox exec -- python3 script.py',
    "glovebox exec --net full --timeout 2m -- sh -c 'curl -sI https://example.org | head -1'",
    'glovebox exec --mount /workspace=. --mount /data=./data:ro --cwd /data -- ls',
    'git diff | glovebox exec --json -- wc -l',
    'GLOVEBOX_TOKEN=gbx_… glovebox exec --server http://127.0.0.1:4177 -- uname -a',
  ],
  runs: [
    'glovebox runs list',
    'glovebox runs show demo-001',
    'glovebox runs events -f demo-001',
    'glovebox runs verify --all',
  ],
  explain: ['glovebox explain', 'glovebox explain --memory 2g --net full', 'glovebox explain --json | jq .argv'],
  doctor: ['glovebox doctor', 'glovebox doctor --json'],
} as const

export function buildProgram(options: ProgramOptions): Command {
  const program = new Command('glovebox')
    .description("Runs an agent's commands behind a boundary that its operator can prove.")
    .enablePositionalOptions()
    .exitOverride()
    .showSuggestionAfterError(true)
    .configureOutput({
      writeOut: options.print.out,
      writeErr: options.print.err,
      outputError: (text, write) => write(operatorWords(text)),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .addHelpText('before', showExamples(examples.glovebox))
    .helpCommand('help [command]', 'show the help of a command')
    .helpOption('-h, --help', 'show this help')
    .option('--debug', 'show stack traces')
  addExec(program, options)
  // The shortest of commands does not pay for the words of all the others.
  if (options.first === 'exec') return program
  program.version(packageVersion(), '-V, --version', 'print the version')
  describeShell(program)
  describeRun(program)
  describeRuns(program)
  addExplain(program, options)
  addDoctor(program, options)
  addAudit(program, options)
  addReindex(program, options)
  describePool(program)
  describeServe(program)
  return program
}

function addExec(program: Command, options: ProgramOptions): void {
  const command = program
    .command('exec')
    .summary('run a command in a new sandbox')
    .description(
      `Runs a command in a new sandbox. The current directory is /workspace, writable, unless mounts are given.
With --server the sandbox is made there, with an empty workspace: nothing of this host is seen, nor its settings file.

Exit code: the command's own; 124 timeout, 125 glovebox failed, 126 not executable, 127 not found, 128+n signal n, 130 Ctrl-C.`,
    )
    .addHelpText('before', showExamples(examples.exec))
    .argument('[command...]', 'the command and its arguments; no shell reads them')
    .passThroughOptions()
  addServerFlags(addSandboxFlags(command, options.directory)).action((argv: readonly string[], flags: SandboxFlags) => {
    options.choose({ flags, run: async (doing) => (await import('./commands/exec.ts')).exec(argv, flags, doing) })
  })
}

/** Its words come from shell-program.ts, and only for those who use them. */
function describeShell(program: Command): void {
  program.command('shell').summary('open a shell in a sandbox, on a terminal')
}

/** Its words come from run-program.ts, and only for those who use them. */
function describeRun(program: Command): void {
  program.command('run').summary('perform a recorded run')
}

/** Its many words come from runs-program.ts, and only for those who use them. */
function describeRuns(program: Command): void {
  program
    .command('runs')
    .summary('look at recorded runs, prove them, and decide about them')
    .description(
      `Lists, shows, verifies and repeats runs, and tells them what a person decided.

A run is named by its directory, by its id, or by the beginning of an id, among the runs of ./runs or --root.`,
    )
    .addHelpText('before', showExamples(examples.runs))
}

/** Their words come from pool-program.ts, and only for those who use them. */
function describePool(program: Command): void {
  program.command('ps').summary('list the sandboxes that are kept')
  program.command('stop').summary('end what runs in sandboxes, and keep their files')
  program.command('prune').summary('remove sandboxes whose time is over')
  program.command('stats').summary('show what sandboxes take')
}

/** Their words come from serve-program.ts, and only for those who use them. */
function describeServe(program: Command): void {
  program.command('serve').summary('serve sandboxes, runs and execs over HTTP')
  program.command('token').summary('make, list and revoke the tokens of the server')
}

function addExplain(program: Command, options: ProgramOptions): void {
  const command = program
    .command('explain')
    .summary('show what would be enforced, by what, and why')
    .description('Shows the effective policy, the layer behind each value, and the plan that `exec` would carry out.')
    .addHelpText('before', showExamples(examples.explain))
    .argument('[command...]', 'shown in its place in the plan; not run')
    .passThroughOptions()
  addSandboxFlags(command, options.directory).action((argv: readonly string[], flags: SandboxFlags) => {
    options.choose({ flags, run: async (doing) => (await import('./commands/explain.ts')).explain(argv, flags, doing) })
  })
}

function addDoctor(program: Command, options: ProgramOptions): void {
  program
    .command('doctor')
    .summary('try every backend here and say what holds')
    .description(
      'Tries every backend of this host with real commands and says what is isolated, what is not, and the fix.',
    )
    .addHelpText('before', showExamples(examples.doctor))
    .option('--json', 'print one JSON object')
    .option('--debug', 'show stack traces')
    .action((flags: { readonly json?: boolean; readonly debug?: boolean }) => {
      options.choose({ flags, run: async (doing) => (await import('./commands/doctor.ts')).doctor(flags, doing) })
    })
}

const showExamples = (lines: readonly string[]): string =>
  `Examples:\n${lines.map((line) => `  $ ${line}`).join('\n')}\n`

/** Commander's complaint as one of our errors: what, then what to do. */
export function misuse(text: string): GloveboxError {
  const [what = '', ...rest] = text.trim().split('\n')
  const suggestion = rest.map((line) => line.replace(/^\((.*)\)$/, '$1')).join(' ')
  const hint = suggestion === '' ? 'Run it with --help to see examples and flags.' : suggestion
  return new GloveboxError('INVALID_INPUT', what.replace(/^error: /, ''), { hint })
}

export const operatorWords = (text: string): string => errorLines(misuse(text), { debug: false })
