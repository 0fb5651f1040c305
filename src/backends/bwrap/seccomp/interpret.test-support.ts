// Reads a filter's bytes back as the kernel would: decodes, runs and prints classic BPF. Written from linux/filter.h
// and not from the assembler, so that a mistake there is not repeated here.
export interface SyscallData {
  readonly arch: number
  readonly number: number
  readonly args: readonly bigint[]
}

interface Decoded {
  readonly code: number
  readonly jumpTrue: number
  readonly jumpFalse: number
  readonly value: number
}

export function decode(bytes: Uint8Array): Decoded[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length % 8 !== 0) throw new Error('not a whole number of instructions')
  return Array.from({ length: bytes.length / 8 }, (_, index) => ({
    code: view.getUint16(index * 8, true),
    jumpTrue: view.getUint8(index * 8 + 2),
    jumpFalse: view.getUint8(index * 8 + 3),
    value: view.getUint32(index * 8 + 4, true),
  }))
}

function layOut(data: SyscallData): DataView {
  const view = new DataView(new ArrayBuffer(64))
  view.setUint32(0, data.number, true)
  view.setUint32(4, data.arch, true)
  for (let index = 0; index < 6; index += 1) view.setBigUint64(16 + 8 * index, data.args[index] ?? 0n, true)
  return view
}

/** The 32-bit value that the filter returns. */
export function interpret(program: readonly Decoded[], data: SyscallData): number {
  const memory = layOut(data)
  let accumulator = 0
  for (let at = 0; ; at += 1) {
    const instruction = program[at]
    if (instruction === undefined) throw new Error(`ran off the end at ${at}`)
    const { code, value, jumpTrue, jumpFalse } = instruction
    const jump = (taken: boolean): number => (taken ? jumpTrue : jumpFalse)
    if (code === 0x06) return value
    else if (code === 0x20) accumulator = memory.getUint32(value, true)
    else if (code === 0x54) accumulator = (accumulator & value) >>> 0
    else if (code === 0x15) at += jump(accumulator === value)
    else if (code === 0x25) at += jump(accumulator > value)
    else if (code === 0x45) at += jump((accumulator & value) !== 0)
    else throw new Error(`unknown instruction ${code} at ${at}`)
  }
}

export function verdictOf(returned: number): string {
  if (returned === 0x7fff0000) return 'allow'
  if (returned === 0x80000000) return 'kill'
  const name = { 1: 'EPERM', 38: 'ENOSYS', 93: 'EPROTONOSUPPORT', 97: 'EAFNOSUPPORT' }[returned & 0xffff]
  if (returned >>> 16 !== 5 || name === undefined) throw new Error(`unknown verdict ${returned}`)
  return name
}

const hex = (value: number): string => `0x${value.toString(16)}`

export function disassemble(program: readonly Decoded[]): string {
  const jumpNames: Record<number, string> = { 0x15: '==', 0x25: '>', 0x45: '&' }
  const lines = program.map(({ code, value, jumpTrue, jumpFalse }, at) => {
    const target = (offset: number): string => String(at + 1 + offset).padStart(3, '0')
    if (code === 0x06) return `return ${verdictOf(value)}`
    if (code === 0x20) return `load ${fieldName(value)}`
    if (code === 0x54) return `and ${hex(value)}`
    return `if ${jumpNames[code]} ${hex(value)} then ${target(jumpTrue)} else ${target(jumpFalse)}`
  })
  return lines.map((line, at) => `${String(at).padStart(3, '0')}  ${line}\n`).join('')
}

function fieldName(offset: number): string {
  if (offset === 0) return 'number'
  if (offset === 4) return 'arch'
  const argument = (offset - 16) >> 3
  return `argument ${argument} ${(offset & 4) === 0 ? 'low' : 'high'}`
}
