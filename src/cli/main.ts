// The command line. It turns arguments into calls of the runtime, prints what comes back and chooses the exit code.
// Promises: data on stdout, everything else on stderr; no stack without --debug; no prompt; no colour outside a terminal.
// It decides nothing about safety and knows no backend.
import { type Command, CommanderError } from 'commander'
import { renderForOperator } from '../errors/render.ts'
import { colourRefused } from '../runtime/terminal.ts'
import { type CommandName, exitCodeForError, exitCodeForUsage, exitCodeWithLoss } from './exit.ts'
import { errorLines, type Face, jsonLine } from './output.ts'
import { buildProgram, type Chosen, type ProgramOptions } from './program.ts'
import { openSink } from './sink.ts'

export async function main(argv: readonly string[]): Promise<number> {
  const face = openFace()
  const code = await perform(argv, face)
  // Chunks keep their order: once an empty one has been taken, so have all that nobody waited for.
  await Promise.all([face.out.write(''), face.err.write('')])
  const loss = lossOf(face)
  if (loss === undefined) return code
  await face.err.write(loss)
  return exitCodeWithLoss(code, commandOf(ownArguments(argv)))
}

async function perform(argv: readonly string[], face: Face): Promise<number> {
  const own = ownArguments(argv)
  // Until the arguments are understood, these are the best guess of how to report that they are not.
  let flags: Chosen['flags'] = { json: own.includes('--json'), debug: own.includes('--debug') }
  try {
    const chosen = await understand(argv, face)
    if (typeof chosen === 'number') return chosen
    flags = { ...chosen.flags, debug: chosen.flags.debug === true || own[0] === '--debug' }
    return await chosen.run({ face, directory: process.cwd() })
  } catch (error) {
    if (flags.json === true) await face.out.write(jsonLine({ error: renderForOperator(error) }))
    await face.err.write(errorLines(error, { debug: flags.debug === true }))
    return exitCodeForError(error, commandOf(own))
  }
}

/** The chosen command, or an exit code where the arguments themselves were the answer: help, version, misuse. */
async function understand(argv: readonly string[], face: Face): Promise<Chosen | number> {
  const printed: Promise<void>[] = []
  let chosen: Chosen | undefined
  const options: ProgramOptions = {
    first: argv[0],
    directory: process.cwd(),
    print: { out: (text) => printed.push(face.out.write(text)), err: (text) => printed.push(face.err.write(text)) },
    choose: (one) => (chosen = one),
  }
  const program = buildProgram(options)
  await addWordsOf(ownArguments(argv), program, options)
  try {
    program.parse([...argv], { from: 'user' })
  } catch (error) {
    await Promise.all(printed)
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? 0 : exitCodeForUsage(commandOf(ownArguments(argv)))
  }
  await Promise.all(printed)
  return chosen ?? exitCodeForUsage(undefined)
}

/** Words that are many, and that most commands do not need. */
async function addWordsOf(own: readonly string[], program: Command, options: ProgramOptions): Promise<void> {
  const words = own.filter((word) => !word.startsWith('-'))
  const word = words[0] === 'help' ? words[1] : words[0]
  const command = program.commands.find((known) => known.name() === word)
  if (command === undefined) return
  if (word === 'shell') (await import('./shell-program.ts')).addShell(command, options)
  if (word === 'run') (await import('./run-program.ts')).addRun(command, options)
  if (word === 'runs') (await import('./runs-program.ts')).addRuns(command, options)
  if (word === 'ps') (await import('./pool-program.ts')).addPs(command, options)
  if (word === 'stop') (await import('./pool-program.ts')).addStop(command, options)
  if (word === 'prune') (await import('./pool-program.ts')).addPrune(command, options)
  if (word === 'stats') (await import('./pool-program.ts')).addStats(command, options)
  if (word === 'serve') (await import('./serve-program.ts')).addServe(command, options)
  if (word === 'token') (await import('./serve-program.ts')).addToken(command, options)
}

/** Up to `--`: what stands behind it belongs to the guest's command. */
function ownArguments(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--')
  return end < 0 ? argv : argv.slice(0, end)
}

function commandOf(own: readonly string[]): CommandName | undefined {
  const first = own.find((word) => !word.startsWith('-'))
  return first === 'exec' || first === 'shell' || first === 'run' || first === 'explain' || first === 'doctor'
    ? first
    : undefined
}

/** What was printed and not taken is lost, however well the rest went. */
function lossOf({ out, err }: Face): string | undefined {
  const [stream, fault] = out.fault === undefined ? ['standard error', err.fault] : ['standard output', out.fault]
  if (fault === undefined) return undefined
  return `glovebox: Cannot print everything: ${stream} took no more (${fault}), and the rest is lost\n${lossHint}\n`
}
const lossHint = 'hint: Look whether what it is sent to is full.'

function openFace(): Face {
  const out = openSink(1)
  return { out, err: openSink(2), colour: out.isTerminal && !colourRefused() }
}
