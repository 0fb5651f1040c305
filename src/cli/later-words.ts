// Words that are many, and that most commands do not need: for each such command, where they are. The command line loads those
// of the command that was called; the reference page has them all.
import type { Command } from 'commander'
import type { ProgramOptions } from './program.ts'

/** Fills a command that the program knows by its name and summary alone. */
export type AddWords = (command: Command, options: ProgramOptions) => void

export const laterWords: Readonly<Record<string, () => Promise<AddWords>>> = {
  shell: async () => (await import('./shell-program.ts')).addShell,
  run: async () => (await import('./run-program.ts')).addRun,
  runs: async () => (await import('./runs-program.ts')).addRuns,
  ps: async () => (await import('./pool-program.ts')).addPs,
  stop: async () => (await import('./pool-program.ts')).addStop,
  prune: async () => (await import('./pool-program.ts')).addPrune,
  stats: async () => (await import('./pool-program.ts')).addStats,
  serve: async () => (await import('./serve-program.ts')).addServe,
  token: async () => (await import('./serve-program.ts')).addToken,
}
