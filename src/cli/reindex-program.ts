// The words of `glovebox reindex`. What it does is loaded when it is called.
import type { Command } from 'commander'
import type { ReindexFlags } from './commands/reindex.ts'
import type { ProgramOptions } from './program.ts'

export function addReindex(program: Command, options: ProgramOptions): void {
  program
    .command('reindex')
    .summary("rebuild the server's database from the files of execs and runs")
    .description(
      `Reads the files of execs and runs into the database. Files are the truth: what they say takes the place of what the
database said. Nothing is deleted; a record that cannot be read is told and left out. A damaged database is put aside:
a server that has it open must be started again.

Exit code: 0 all was read, 1 something could not be.`,
    )
    .addHelpText('before', 'Examples:\n  $ glovebox reindex\n  $ glovebox reindex --runs ./runs --json\n')
    .option('--config <file>', 'the settings file (default: the nearest glovebox.yaml)')
    .option('--data <dir>', "the server's data directory; default: as for serve")
    .option('--workspace <dir>', 'holds projects/<id>/artifacts/<exec>; default: as for serve')
    .option('--runs <dir>', 'holds <project>/<run>, or runs themselves; default: runs in the data directory')
    .option('--json', 'print JSON')
    .option('--debug', 'show stack traces')
    .action((flags: ReindexFlags) => {
      options.choose({ flags, run: async (doing) => (await import('./commands/reindex.ts')).reindex(flags, doing) })
    })
}
