// The command line. It turns arguments into calls of the runtime, prints what comes back and chooses the exit code.
// Promises: data on stdout, everything else on stderr; no stack without --debug; no prompt; no colour outside a terminal.
// It decides nothing about safety and knows no backend.
import { type Command, CommanderError } from 'commander'
import { GloveboxError } from '../errors/error.ts'
import { colourRefused } from '../runtime/terminal.ts'
import { type CommandName, exitCodeForError, exitCodeForUsage, exitCodeWithLoss } from './exit.ts'
import { laterWords } from './later-words.ts'
import { errorLines, type Face, jsonLine, shownError } from './output.ts'
import { buildProgram, misuse, type Chosen, type ProgramOptions } from './program.ts'
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
    const chosen = await understand(argv, face, flags)
    if (typeof chosen === 'number') return chosen
    flags = { ...chosen.flags, debug: chosen.flags.debug === true || own[0] === '--debug' }
    return await chosen.run({ face, directory: currentDirectory() })
  } catch (error) {
    if (flags.json === true) await face.out.write(jsonLine({ error: shownError(error) }))
    await face.err.write(errorLines(error, { debug: flags.debug === true }))
    return exitCodeForError(error, commandOf(own))
  }
}

/** The chosen command, or an exit code where the arguments themselves were the answer: help, version, misuse. */
async function understand(argv: readonly string[], face: Face, flags: Chosen['flags']): Promise<Chosen | number> {
  const printed: Promise<void>[] = []
  let chosen: Chosen | undefined
  const options: ProgramOptions = {
    first: argv[0],
    directory: currentDirectory(),
    print: { out: (text) => printed.push(face.out.write(text)), err: (text) => printed.push(face.err.write(text)) },
    choose: (one) => (chosen = one),
  }
  const program = buildProgram(options)
  await addWordsOf(ownArguments(argv), program, options)
  try {
    program.parse([...(unknownHelp(ownArguments(argv), program) ?? argv)], { from: 'user' })
  } catch (error) {
    await Promise.all(printed)
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return 0
    // Help that was printed in place of an answer is no complaint.
    if (flags.json === true && error.code !== 'commander.help')
      await face.out.write(jsonLine({ error: shownError(misuse(error.message)) }))
    return exitCodeForUsage(commandOf(ownArguments(argv)))
  }
  await Promise.all(printed)
  return chosen ?? exitCodeForUsage(undefined)
}

/** A directory can be removed while a shell stands in it. */
function currentDirectory(): string {
  try {
    return process.cwd()
  } catch (error) {
    throw new GloveboxError('NOT_FOUND', 'Cannot work in the current directory: it is no longer there', {
      hint: 'Change to a directory that is: cd "$HOME". If it was made anew: cd "$PWD".',
      operatorDetail: error instanceof Error ? error.message : String(error),
    })
  }
}

/** Commander shows the help of everything to who asks for that of a command that is not there. The command alone is refused as unknown. */
function unknownHelp(own: readonly string[], program: Command): readonly string[] | undefined {
  const [help, word] = own.filter((each) => !each.startsWith('-'))
  if (help !== 'help' || word === undefined || word === 'help') return undefined
  return program.commands.some((known) => known.name() === word) ? undefined : [word]
}

async function addWordsOf(own: readonly string[], program: Command, options: ProgramOptions): Promise<void> {
  const words = own.filter((word) => !word.startsWith('-'))
  const word = words[0] === 'help' ? words[1] : words[0]
  const command = program.commands.find((known) => known.name() === word)
  if (command === undefined) return
  const addWords = await laterWords[command.name()]?.()
  addWords?.(command, options)
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
