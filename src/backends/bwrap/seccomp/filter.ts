// Compiles the rules into the seccomp filter that bwrap loads with --seccomp, and into words for people. Pure: the
// same options give the same bytes. It promises that the first matching rule of a call answers, that foreign
// architectures end the process, and that calls newer than the table are not there. It knows no bwrap and no policy.
import { assemble, type Line } from './bpf.ts'
import { findCallNumber, newestKnownCall, type Arch, type CallName } from './numbers.ts'
import { errnoValues, type Condition, type Rule } from './rule.ts'
import { rules } from './rules.ts'

export interface FilterOptions {
  readonly arch: Arch
  /** The guest shares its session with a terminal. The rules are the same; what they are worth is told in the words. */
  readonly pty: boolean
}

export interface CompiledFilter {
  readonly bytes: Uint8Array
  readonly words: readonly string[]
}

/** Calls to which the very same rules apply share one block of instructions. */
interface Block {
  readonly numbers: number[]
  readonly rules: readonly Rule[]
}

// linux/seccomp.h
const allow = 0x7fff0000
const killProcess = 0x80000000
const refuse = (errno: keyof typeof errnoValues): number => 0x00050000 | errnoValues[errno]

// struct seccomp_data { int nr; u32 arch; u64 instruction_pointer; u64 args[6] }; both architectures are little-endian.
const numberOffset = 0
const archOffset = 4
const lowHalfOffset = (argument: number): number => 16 + 8 * argument

const auditArch: Readonly<Record<Arch, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 }
const x32Bit = 0x40000000
const allBits = 0xffffffff

export function compileFilter(options: FilterOptions): CompiledFilter {
  const blocks = blocksFor(options.arch)
  const lines = [...opening(options.arch), ...blocks.flatMap(compileBlock), { do: 'return', value: allow } as const]
  return { bytes: assemble(lines), words: describe(options) }
}

function opening(arch: Arch): Line[] {
  return [
    // SECURITY: the same number names another call on another architecture, so int 0x80 on x64 would pass every rule.
    // test/attacks/seccomp: "calls of another architecture end the process"
    { do: 'load', offset: archOffset },
    { do: 'jump', if: 'equal', value: auditArch[arch], to: 'native' },
    { do: 'return', value: killProcess },
    { do: 'label', name: 'native' },
    { do: 'load', offset: numberOffset },
    ...(arch === 'x64' ? refuseX32() : []),
    // SECURITY: a call that came after the table cannot have been judged. Programs must expect it to be missing.
    // test/attacks/seccomp: "calls newer than the table are not there"
    { do: 'jump', if: 'above', value: newestKnownCall, otherwise: 'known' },
    { do: 'return', value: refuse('ENOSYS') },
    { do: 'label', name: 'known' },
  ]
}

// SECURITY: x32 calls report the architecture of x64 and differ from it by one bit of the number.
// test/attacks/seccomp: "calls of the x32 interface end the process"
function refuseX32(): Line[] {
  return [
    { do: 'jump', if: 'anyBit', value: x32Bit, otherwise: 'not x32' },
    { do: 'return', value: killProcess },
    { do: 'label', name: 'not x32' },
  ]
}

function blocksFor(arch: Arch): Block[] {
  const rulesOfNumber = new Map<number, Rule[]>()
  for (const rule of rules) {
    for (const number of numbersOf(rule.calls, arch)) {
      rulesOfNumber.set(number, [...(rulesOfNumber.get(number) ?? []), rule])
    }
  }
  const blocks = new Map<string, Block>()
  for (const [number, applying] of rulesOfNumber) {
    const key = applying.map((rule) => rules.indexOf(rule)).join()
    const block = blocks.get(key) ?? { numbers: [], rules: applying }
    block.numbers.push(number)
    blocks.set(key, block)
  }
  return [...blocks.values()]
}

const numbersOf = (calls: readonly CallName[], arch: Arch): number[] =>
  calls.map((call) => findCallNumber(call, arch)).filter((number) => number !== undefined)

// The number stays loaded until a block takes the call, and a block that took it always returns; so jumps stay short
// however long the table grows.
function compileBlock(block: Block, index: number): Line[] {
  const lastNumber = block.numbers.length - 1
  const select = block.numbers.map((number, at): Line => {
    const jump = { do: 'jump', if: 'equal', value: number, to: `block ${index}` } as const
    return at === lastNumber ? { ...jump, otherwise: `after ${index}` } : jump
  })
  const answers = block.rules.flatMap((rule, at) => compileRule(rule, `block ${index} rule ${at}`))
  const mayFallThrough = block.rules.every((rule) => rule.when !== undefined)
  return [
    ...select,
    { do: 'label', name: `block ${index}` },
    ...answers,
    ...(mayFallThrough ? [{ do: 'return', value: allow } as const] : []),
    { do: 'label', name: `after ${index}` },
  ]
}

function compileRule(rule: Rule, name: string): Line[] {
  const missed = `${name} missed`
  const conditions = (rule.when ?? []).flatMap((condition, at) =>
    compileCondition(condition, `${name}.${at} holds`, missed),
  )
  return [...conditions, { do: 'return', value: refuse(rule.answer) }, { do: 'label', name: missed }]
}

function compileCondition(condition: Condition, holds: string, missed: string): Line[] {
  const load: Line[] = [{ do: 'load', offset: lowHalfOffset(condition.argument) }]
  if (condition.mask !== allBits) load.push({ do: 'and', value: condition.mask })
  const test = condition.holds === 'anyBit' ? 'anyBit' : 'equal'
  const found = condition.holds === 'noneOf' ? missed : holds
  const notFound = condition.holds === 'noneOf' ? holds : missed
  const last = condition.values.length - 1
  const jumps = condition.values.map((value, at): Line => {
    const jump = { do: 'jump', if: test, value, to: found } as const
    return at === last ? { ...jump, otherwise: notFound } : jump
  })
  return [...load, ...jumps, { do: 'label', name: holds }]
}

function describe({ arch, pty }: FilterOptions): string[] {
  return [
    `calls of other architectures${arch === 'x64' ? ', and of the x32 interface' : ''}: the process is killed: their numbers mean other calls`,
    `calls numbered above ${newestKnownCall}: ENOSYS: they are newer than this table`,
    ...rules.flatMap((rule) => describeRule(rule, arch)),
    pty
      ? 'terminal: the guest shares its session with a terminal; the ioctl rule alone keeps it from typing there'
      : 'terminal: the guest has a session of its own; the ioctl rule is the second defence',
  ]
}

function describeRule(rule: Rule, arch: Arch): string[] {
  const calls = rule.calls.filter((call) => findCallNumber(call, arch) !== undefined)
  if (calls.length === 0) return []
  const asking = rule.asking === undefined ? '' : ` ${rule.asking}`
  return [`${calls.join(' ')}${asking}: ${rule.answer}: ${rule.reason}`]
}
