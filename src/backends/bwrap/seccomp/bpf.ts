// A small assembler for classic BPF, the language of seccomp filters. It turns lines with named labels into the
// kernel's 8-byte instructions. It promises that every jump goes forward and fits its 8-bit offset, and that the
// program cannot run off its end; it knows nothing of system calls or rules.
import { GloveboxError } from '../../../errors/error.ts'

export type Line =
  | { readonly do: 'load'; readonly offset: number }
  | { readonly do: 'and'; readonly value: number }
  /** A missing label means: go on with the next line. */
  | {
      readonly do: 'jump'
      readonly if: JumpTest
      readonly value: number
      readonly to?: string
      readonly otherwise?: string
    }
  | { readonly do: 'return'; readonly value: number }
  | { readonly do: 'label'; readonly name: string }

export type JumpTest = keyof typeof jumpCodes
type Instruction = Exclude<Line, { readonly do: 'label' }>

// BPF_LD | BPF_W | BPF_ABS, BPF_ALU | BPF_AND | BPF_K, BPF_RET | BPF_K
const plainCodes = { load: 0x20, and: 0x54, return: 0x06 } as const
const jumpCodes = { equal: 0x15, above: 0x25, anyBit: 0x45 } as const // BPF_JMP | {JEQ, JGT, JSET} | BPF_K

const instructionBytes = 8
const maxInstructions = 4096 // BPF_MAXINSNS
const maxOffset = 255

export function assemble(lines: readonly Line[]): Uint8Array {
  const { instructions, labels } = placeLabels(lines)
  if (instructions.length > maxInstructions) throw fault(`${instructions.length} instructions are too many`)
  if (instructions.at(-1)?.do !== 'return') throw fault('the last instruction does not return')
  const bytes = new Uint8Array(instructions.length * instructionBytes)
  const view = new DataView(bytes.buffer)
  instructions.forEach((instruction, index) => encode(view, instruction, index, labels))
  return bytes
}

function placeLabels(lines: readonly Line[]): { instructions: Instruction[]; labels: Map<string, number> } {
  const instructions: Instruction[] = []
  const labels = new Map<string, number>()
  for (const line of lines) {
    if (line.do !== 'label') {
      instructions.push(line)
      continue
    }
    if (labels.has(line.name)) throw fault(`label ${line.name} is set twice`)
    labels.set(line.name, instructions.length)
  }
  return { instructions, labels }
}

// struct sock_filter { u16 code; u8 jt; u8 jf; u32 k }, little-endian on both architectures that are supported.
function encode(view: DataView, instruction: Instruction, index: number, labels: ReadonlyMap<string, number>): void {
  const at = index * instructionBytes
  view.setUint16(at, codeOf(instruction), true)
  if (instruction.do === 'jump') {
    view.setUint8(at + 2, offsetTo(instruction.to, index, labels))
    view.setUint8(at + 3, offsetTo(instruction.otherwise, index, labels))
  }
  view.setUint32(at + 4, instruction.do === 'load' ? instruction.offset : instruction.value, true)
}

function codeOf(instruction: Instruction): number {
  return instruction.do === 'jump' ? jumpCodes[instruction.if] : plainCodes[instruction.do]
}

function offsetTo(label: string | undefined, index: number, labels: ReadonlyMap<string, number>): number {
  if (label === undefined) return 0
  const target = labels.get(label)
  if (target === undefined) throw fault(`label ${label} is not set`)
  const offset = target - index - 1
  if (offset < 0) throw fault(`the jump to ${label} goes back`)
  if (offset > maxOffset) throw fault(`the jump to ${label} is longer than ${maxOffset}`)
  return offset
}

const fault = (cause: string): GloveboxError =>
  new GloveboxError('INTERNAL', `Cannot assemble the system-call filter: ${cause}`)
