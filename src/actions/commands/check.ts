// Decides whether a command line stays within the table. GNU programs accept options after operands too, so
// every argument before `--` is looked at, wherever it stands.
import { GloveboxError } from '../../errors/error.ts'
import { didYouMean } from '../../errors/suggest.ts'
import { allowedNames, allowedPrograms, type AllowedProgram } from './table.ts'

export function checkCommand(argv: readonly string[]): void {
  const [name = '', ...args] = argv
  const program = Object.hasOwn(allowedPrograms, name) ? allowedPrograms[name] : undefined
  if (program === undefined) {
    throw refusal(`${quoted(name)} is not in the read-only set`, `${didYouMean(name, allowedNames)} ${shellHint}`)
  }
  const operands = operandsOf(name, program, args)
  if (operands.length > (program.maxOperands ?? Number.POSITIVE_INFINITY)) {
    throw refusal(`${name} takes at most ${program.maxOperands} operands here`, shellHint)
  }
  const odd = operands.find((operand) => program.operand?.test(operand) === false)
  if (odd !== undefined) throw refusal(`${name} does not take ${quoted(odd)} here`, shellHint)
}

function operandsOf(name: string, program: AllowedProgram, args: readonly string[]): readonly string[] {
  const operands: string[] = []
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? ''
    if (argument === '--') return [...operands, ...args.slice(index + 1)]
    const kind = classify(program, argument)
    if (kind === 'refused') throw refusal(`${name} does not take ${quoted(argument)} here`, shellHint)
    if (kind === 'operand') operands.push(argument)
    if (kind !== 'needs-value') continue
    if (index + 1 === args.length) throw refusal(`${quoted(argument)} of ${name} needs a value`, shellHint)
    index++
  }
  return operands
}

type Kind = 'operand' | 'option' | 'needs-value' | 'refused'

function classify(program: AllowedProgram, argument: string): Kind {
  if (argument === '-' || !argument.startsWith('-')) return 'operand'
  if (argument.startsWith('--')) return classifyLong(program, argument.slice(2))
  if (program.numeric === true && /^-\d+$/.test(argument)) return 'option'
  return classifyShort(program, argument.slice(1))
}

function classifyLong(program: AllowedProgram, option: string): Kind {
  const equals = option.indexOf('=')
  const name = equals === -1 ? option : option.slice(0, equals)
  if (program.longValued?.includes(name) === true) return equals === -1 ? 'needs-value' : 'option'
  return program.long?.includes(name) === true && equals === -1 ? 'option' : 'refused'
}

/** A cluster such as `-nr`, in which the first letter that takes a value ends the letters. */
function classifyShort(program: AllowedProgram, letters: string): Kind {
  for (const [position, letter] of Array.from(letters).entries()) {
    if (program.valued?.includes(letter) === true) return position === letters.length - 1 ? 'needs-value' : 'option'
    if (program.flags?.includes(letter) !== true) return 'refused'
  }
  return 'option'
}

const shellHint = 'Use run_shell for anything beyond looking.'
const quoted = (text: string): string => JSON.stringify(text.slice(0, 100))

const refusal = (cause: string, hint: string): GloveboxError =>
  new GloveboxError('COMMAND_NOT_ALLOWED', `Cannot run the command: ${cause}`, { hint })
