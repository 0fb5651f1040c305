// The words of `glovebox audit`. What they do is loaded when they are called.
import { type Command, InvalidArgumentError } from 'commander'
import type { AuditFlags } from './commands/audit.ts'
import type { ProgramOptions } from './program.ts'

const examples = `Examples:
  $ glovebox audit verify
  $ glovebox audit verify ./copy-of-audit --key trusted.pem --json
  $ glovebox audit show --last 20
  $ glovebox audit head
`

const exitCodes = `Exit code: 0 ok, 10 unsigned tail, 11 torn tail, 12 truncated, 13 bad signature, 14 forked, 15 broken; 1 there is no log.`

export function addAudit(program: Command, options: ProgramOptions): void {
  const audit = program
    .command('audit')
    .summary('verify and read the log of runs, of tokens and of what a server did')
    .description(
      `Verifies and reads the hash-chained audit log of the state directory, or a copy of it.\n\n${exitCodes}`,
    )
    .addHelpText('before', examples)
  const choose = (run: 'verify' | 'show' | 'head') => (directory: string | undefined, flags: AuditFlags) => {
    options.choose({
      flags,
      run: async (doing) => (await import('./commands/audit.ts')).audit[run](directory, flags, doing),
    })
  }
  withDirectory(
    audit.command('verify').description(`Checks every link, head and signature. Needs nothing else.\n\n${exitCodes}`),
  )
    .option('--key <file>', 'check with this public key instead of the one in the directory')
    .option('--expect <seq:hash>', 'a head that was kept elsewhere; the log must still hold it', readHead)
    .action(choose('verify'))
  withDirectory(audit.command('show').description('Prints the records, oldest first.'))
    .option('--last <count>', 'only so many of the newest', readCount)
    .option('-f, --follow', 'go on as records come, until Ctrl-C')
    .action(choose('show'))
  withDirectory(
    audit.command('head').description('Prints the newest record that is signed, to be kept elsewhere.'),
  ).action(choose('head'))
}

const withDirectory = (command: Command): Command =>
  command
    .argument('[directory]', 'a log, or a state directory with one; default: your own')
    .option('--json', 'print JSON')
    .option('--debug', 'show stack traces')

export function readHead(text: string): { readonly seq: number; readonly hash: string } {
  const [, seq, hash = ''] = /^([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(text) ?? []
  if (seq === undefined) throw new InvalidArgumentError('Write it as `glovebox audit head` prints it.')
  return { seq: Number(seq), hash }
}

export function readCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Give a whole number from 1.')
  return Number(text)
}
