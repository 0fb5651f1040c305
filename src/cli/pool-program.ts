// The words of `glovebox ps | stop | prune | stats`. Loaded only for those who use them, and what they do when they are called.
import type { Command } from 'commander'
import type { PoolFlags } from './commands/pool/told.ts'
import { addServerFlags } from './flags.ts'
import type { ProgramOptions } from './program.ts'

const flagged = (command: Command, examples: readonly string[]): Command =>
  command
    .addHelpText('before', `Examples:\n${examples.map((line) => `  $ ${line}`).join('\n')}\n`)
    .option('--json', 'print JSON')
    .option('--debug', 'show stack traces')

/** One that a server can answer too. */
const served = (command: Command, examples: readonly string[]): Command => flagged(addServerFlags(command), examples)

/** Fills the word `ps` of the program. */
export function addPs(command: Command, options: ProgramOptions): void {
  served(command, ['glovebox ps', 'glovebox ps --quiet', 'glovebox ps --server http://127.0.0.1:4177'])
    .description(
      `Lists the sandboxes that are kept on this host, or on a server, whether or not anything runs in them.

States here: open (a process has it), parked (released, and ready), resting (its files are there, and its next use opens it), paused, over (its time is past), damaged.
States of a server: active (open there), warm (released, and ready), resting (its files are there, or another server has it), paused.`,
    )
    .option('-q, --quiet', 'print ids only')
    .action((flags: PoolFlags) => {
      options.choose({ flags, run: async (doing) => (await import('./commands/pool/ps.ts')).ps(flags, doing) })
    })
}

/** Fills the word `stop`. */
export function addStop(command: Command, options: ProgramOptions): void {
  served(command, [
    'glovebox stop sbx_3f2a',
    'glovebox stop --remove $(glovebox ps --quiet)',
    'glovebox stop --all --server http://127.0.0.1:4177',
    'glovebox stop sh_3f2a',
  ])
    .description(
      `Ends what runs in sandboxes and pauses them: their files stay, and their next use resumes them. With --remove the files go too. A shell that was left is ended by its id.

Exit code: 0 all are stopped; 1 some are not there, or another process uses them.`,
    )
    .argument('[id...]', 'of sandboxes or of shells; their beginnings will do')
    .option('--all', 'every one')
    .option('--remove', 'with their files')
    .action((asked: readonly string[], flags: PoolFlags) => {
      options.choose({
        flags,
        run: async (doing) => (await import('./commands/pool/stop.ts')).stop(asked, flags, doing),
      })
    })
}

/** Fills the word `prune`. */
export function addPrune(command: Command, options: ProgramOptions): void {
  flagged(command, ['glovebox prune --dry-run', 'glovebox prune', 'glovebox prune --paused --damaged'])
    .description(
      'Removes sandboxes whose time is over, and what nothing needs any more. What a process uses is left alone.',
    )
    .option('--paused', 'paused ones too')
    .option('--resting', 'those that rest too')
    .option('--damaged', 'those whose record cannot be read, too')
    .option('--dry-run', 'only say what would be removed')
    .action((flags: PoolFlags) => {
      options.choose({ flags, run: async (doing) => (await import('./commands/pool/prune.ts')).prune(flags, doing) })
    })
}

/** Fills the word `stats`. */
export function addStats(command: Command, options: ProgramOptions): void {
  served(command, ['glovebox stats', 'glovebox stats --json', 'glovebox stats --server http://127.0.0.1:4177'])
    .description(
      'Shows what the sandboxes of this host take of its disk; of a server, what its pool has done and has left.',
    )
    .action((flags: PoolFlags) => {
      options.choose({ flags, run: async (doing) => (await import('./commands/pool/stats.ts')).stats(flags, doing) })
    })
}
