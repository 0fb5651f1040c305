// The words of `glovebox runs`. Loaded only for those who use them; what each word does is loaded when it is called.
import { type Command, InvalidArgumentError } from 'commander'
import { serverAsked } from '../runtime/remote.ts'
import { locateRun } from '../runtime/runs/find.ts'
import { readCount } from './audit-program.ts'
import type { ApproveFlags } from './commands/runs/approve.ts'
import type { AnswerFlags } from './commands/runs/answer.ts'
import type { ArtifactsFlags } from './commands/runs/artifacts.ts'
import type { CancelFlags } from './commands/runs/cancel.ts'
import { addDiffFlags, type DiffFlags } from './commands/runs/diff-flags.ts'
import type { EventsFlags } from './commands/runs/events.ts'
import { addForkFlags, forkDescription, type ForkFlags } from './commands/runs/fork-flags.ts'
import type { ListFlags } from './commands/runs/list.ts'
import { addReplayFlags, type ReplayFlags } from './commands/runs/replay-flags.ts'
import type { ReviseFlags } from './commands/runs/revise.ts'
import { states, type RunsFlags } from './commands/runs/told.ts'
import type { VerifyFlags } from './commands/runs/verify.ts'
import { addServerFlags } from './flags.ts'
import type { Doing, ProgramOptions } from './program.ts'
import { parseDurationMs } from './units.ts'

const howNamed = `A run is named by its directory, by its id, or by the beginning of an id, among the runs of ./runs or --root.`

const verifyExits = `Exit code: 0 ok; 11 torn tail (a crash explains it); 12 events missing at the end; 15 the log was changed;
16 run.json differs from the events (after a crash it may lag: \`runs recover\`); 17 a snapshot or manifest was changed;
18 an artifact was changed; 19 a file of an action was changed; 1 it is no run. Of several the worst counts.`

/** Fills the word `runs` of the program. */
export function addRuns(runs: Command, options: ProgramOptions): void {
  addReading(runs, options)
  addProving(runs, options)
  addRepeating(runs, options)
  addDeciding(runs, options)
  addRecover(runs, options)
}

function addReading(runs: Command, options: ProgramOptions): void {
  servedVerb(runs, 'list', 'list runs, newest first', [
    'runs list',
    'runs list --status failed --status lost',
    'runs list -q',
  ])
    .description(
      'Lists the runs of ./runs, newest first. What cannot be read is told on stderr, and the exit code is 1.',
    )
    .option('-q, --quiet', 'print ids only')
    .option('--no-trunc', 'print ids whole')
    .option('--status <state>', `only those; may be repeated: ${states.join(', ')}`, collectState)
    .option('--session <id>', 'only those of the session; the beginning of its id is enough')
    .option('--task <id>', 'only those of the task; the beginning of its id is enough')
    .action((flags: ListFlags) => {
      const run = async (doing: Doing): Promise<number> =>
        serverAsked(flags) === undefined
          ? (await import('./commands/runs/list.ts')).runsList(flags, doing)
          : (await reading()).listRemote(flags, doing)
      options.choose({ flags, run })
    })
  servedVerb(runs, 'show <run>', 'show one run on one screen', [
    'runs show demo-001',
    'runs show run_0198 --json | jq .task',
  ])
    .description(`Shows how a run stands, what it did and delivered, and what can be done next.\n\n${howNamed}`)
    .action(
      onRun<RunsFlags>(
        options,
        async (directory, flags, doing) => (await import('./commands/runs/show.ts')).runsShow(directory, flags, doing),
        async (...asked) => (await reading()).showRemote(...asked),
      ),
    )
  servedVerb(runs, 'events <run>', 'print the log of a run', [
    'runs events demo-001 --from 10',
    'runs events -f --json demo-001',
  ])
    .description('Prints the events in order. With -f it goes on until the run has ended, or its process is gone.')
    .option('-f, --follow', 'go on as events come')
    .option('--from <seq>', 'begin with this event', readCount)
    .action(
      onRun<EventsFlags>(
        options,
        async (directory, flags, doing) =>
          (await import('./commands/runs/events.ts')).runsEvents(directory, flags, doing),
        async (...asked) => (await reading()).eventsRemote(...asked),
      ),
    )
  servedVerb(runs, 'artifacts <run>', 'list the files of a run, or print one', [
    'runs artifacts demo-001',
    'runs artifacts demo-001 --get deliverables/report.md > report.md',
  ])
    .description(
      'Lists the files below workspace/ and deliverables/ as they were recorded; of a run that has not ended, as they are now.',
    )
    .option('--deliverables', 'only those below deliverables/')
    .option('--get <path>', 'write the bytes of one file to stdout; exit code 1 if they are not as recorded')
    .action(
      onRun<ArtifactsFlags>(
        options,
        async (directory, flags, doing) =>
          (await import('./commands/runs/artifacts.ts')).runsArtifacts(directory, flags, doing),
        async (...asked) => (await reading()).artifactsRemote(...asked),
      ),
    )
  verb(runs, 'open <run> [part]', 'print where the files of a run lie', [
    'runs open demo-001',
    'cd "$(glovebox runs open demo-001 deliverables)"',
  ])
    .description('Prints the host paths of a run. With a part, that path alone: workspace, deliverables, prompt.md, …')
    .action((asked: string, part: string | undefined, flags: RunsFlags) => {
      const run = async (doing: Doing): Promise<number> =>
        (await import('./commands/runs/open.ts')).runsOpen(locate(asked, flags, doing), part, flags, doing)
      options.choose({ flags, run })
    })
}

function addProving(runs: Command, options: ProgramOptions): void {
  verb(runs, 'verify [run...]', 'check that runs are as they were written', [
    'runs verify demo-001',
    'runs verify --all --json',
  ])
    .description(
      `Checks the chain of events, run.json, snapshots, manifests, actions and artifacts, and counts what it checked. Works offline and on a copy.\n\n${verifyExits}`,
    )
    .option('--all', 'every run of the root')
    .action((asked: readonly string[], flags: VerifyFlags) => {
      const run = async (doing: Doing): Promise<number> =>
        (await import('./commands/runs/verify.ts')).runsVerify(asked, flags, doing)
      options.choose({ flags, run })
    })
}

function addRepeating(runs: Command, options: ProgramOptions): void {
  const diff = verb(runs, 'diff <run>', 'show what a run changed, file by file', [
    'runs diff demo-001',
    'runs diff demo-001 --stat',
    'runs diff demo-001 --action 3',
  ]).description('Shows what a run changed in its workspace and deliverables, and what each single action changed.')
  addDiffFlags(diff).action(
    onRun<DiffFlags>(options, async (directory, flags, doing) =>
      (await import('./commands/runs/diff.ts')).runsDiff(directory, flags, doing),
    ),
  )
  const replay = verb(runs, 'replay <run>', 'repeat a run in a fresh sandbox and compare', [
    'runs replay demo-001',
    'runs replay demo-001 --json',
  ]).description(
    'Builds a fresh sandbox from the manifests, repeats the recorded actions in order, and tells which outputs and artifacts came out byte-identical.\n\nExit code: 0 everything came out the same; 1 something did not; 130 cancelled.',
  )
  addReplayFlags(replay).action(
    onRun<ReplayFlags>(options, async (directory, flags, doing) =>
      (await import('./commands/runs/replay.ts')).runsReplay(directory, flags, doing),
    ),
  )
  const fork = verb(runs, 'fork <run> [command...]', 'begin a new run where another one was', [
    'runs fork demo-001',
    'runs fork demo-001 --at action:3 --start',
    "glovebox runs fork demo-001 --start --prompt 'Now in German.' -- sh job.sh",
  ]).description(forkDescription)
  addForkFlags(fork).action((asked: string, argv: readonly string[], flags: ForkFlags) => {
    const run = async (doing: Doing): Promise<number> =>
      (await import('./commands/runs/fork.ts')).runsFork(locate(asked, flags, doing), flags, doing, argv)
    options.choose({ flags, run })
  })
}

function addDeciding(runs: Command, options: ProgramOptions): void {
  servedVerb(runs, 'answer <run> [text]', 'answer the question of a run', [
    'runs answer demo-001 yes',
    'runs answer demo-001 --question q_2 "Use the second one."',
    'runs answer demo-001 < answer.txt',
  ])
    .description('Answers a run that waits for a person, and waits a little until the run has taken the answer.')
    .option('--question <id>', 'which, if it asks several')
    .option('--timeout <duration>', 'how long to wait (default: 5s)', duration)
    .action((asked: string, text: string | undefined, flags: AnswerFlags) => {
      const run = async (doing: Doing): Promise<number> =>
        serverAsked(flags) === undefined
          ? (await import('./commands/runs/answer.ts')).runsAnswer(locate(asked, flags, doing), text, flags, doing)
          : (await deciding()).answerRemote(asked, text, flags, doing)
      options.choose({ flags, run })
    })
  servedVerb(runs, 'approve <run>', 'complete a run that waits for review', ['runs approve demo-001'])
    .description(
      'Completes a run that waits for review. Its deliverables are checked again: one that is missing fails the run (exit code 1), and ones that changed since are refused.',
    )
    .option('--message <text>', 'kept with the decision')
    .option('--accept-changes', 'approve the deliverables as they are now')
    .action(
      onRun<ApproveFlags>(
        options,
        async (directory, flags, doing) =>
          (await import('./commands/runs/approve.ts')).runsApprove(directory, flags, doing),
        async (...asked) => (await deciding()).approveRemote(...asked),
      ),
    )
  servedVerb(runs, 'revise <run>', 'send a run back', ['runs revise demo-001 --message "Shorter, please."'])
    .description('Sends a run that waits for review back, and prints the command for the next attempt at its task.')
    .requiredOption('--message <text>', 'what to do differently')
    .action(
      onRun<ReviseFlags>(
        options,
        async (directory, flags, doing) =>
          (await import('./commands/runs/revise.ts')).runsRevise(directory, flags, doing),
        async (...asked) => (await deciding()).reviseRemote(...asked),
      ),
    )
  servedVerb(runs, 'cancel <run>', 'end a run', ['runs cancel demo-001 --timeout 1m'])
    .description(
      'Asks the process at work to end the run, and waits until it has. A run that waits for review is ended here; one whose process is gone is recovered.\n\nExit code: 0 cancelled; 1 it ended otherwise, or not in time.',
    )
    .option('--timeout <duration>', 'how long to wait (default: 30s)', duration)
    .action(
      onRun<CancelFlags>(
        options,
        async (directory, flags, doing) =>
          (await import('./commands/runs/cancel.ts')).runsCancel(directory, flags, doing),
        async (...asked) => (await deciding()).cancelRemote(...asked),
      ),
    )
}

function addRecover(runs: Command, options: ProgramOptions): void {
  verb(runs, 'recover [root]', 'put right what crashes left', ['runs recover', 'runs recover ./elsewhere/runs --json'])
    .description(
      'Ends runs whose process is gone (failed, or lost), cuts torn logs and folds run.json anew. Runs at work and damaged runs are left as they are.\n\nExit code: 0 all is well now; 1 something is damaged or could not be recovered.',
    )
    .action((root: string | undefined, flags: RunsFlags) => {
      const run = async (doing: Doing): Promise<number> =>
        (await import('./commands/runs/recover.ts')).runsRecover(root, flags, doing)
      options.choose({ flags, run })
    })
}

const verb = (runs: Command, words: string, summary: string, examples: readonly string[]): Command =>
  runs
    .command(words)
    .summary(summary)
    .addHelpText('before', `Examples:\n${examples.map((line) => `  $ ${asCommand(line)}`).join('\n')}\n`)
    .option('--root <directory>', 'where runs lie (default: ./runs)')
    .option('--json', 'print JSON')
    .option('--debug', 'show stack traces')

/** One that a server can answer too. */
const servedVerb = (...words: Parameters<typeof verb>): Command => addServerFlags(verb(...words))

const reading = () => import('./commands/remote/reading.ts')
const deciding = () => import('./commands/remote/deciding.ts')

const asCommand = (line: string): string => (line.startsWith('runs ') ? `glovebox ${line}` : line)

/** Of a run that is named by its directory; elsewhere, as it was asked for. */
type Work<Flags> = (run: string, flags: Flags, doing: Doing) => Promise<number>

const onRun =
  <Flags extends RunsFlags>(options: ProgramOptions, here: Work<Flags>, elsewhere?: Work<Flags>) =>
  (asked: string, flags: Flags): void =>
    options.choose({
      flags,
      run: async (doing) =>
        elsewhere !== undefined && serverAsked(flags) !== undefined
          ? elsewhere(asked, flags, doing)
          : here(locate(asked, flags, doing), flags, doing),
    })

const locate = (asked: string, { root }: RunsFlags, { directory }: Doing): string =>
  locateRun(asked, { directory, root })

const duration = (text: string): number => parseDurationMs(text, '--timeout')

function collectState(text: string, before: readonly string[] = []): readonly string[] {
  if (!(states as readonly string[]).includes(text)) throw new InvalidArgumentError(`Known are: ${states.join(', ')}.`)
  return [...before, text]
}
