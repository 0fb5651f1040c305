import { describe, expect, it } from 'vitest'
import { assemble, type Line } from './bpf.ts'

const end: Line = { do: 'return', value: 0 }
const farJump = (distance: number): Line[] => [
  { do: 'jump', if: 'equal', value: 1, to: 'far' },
  ...Array.from({ length: distance }, () => end),
  { do: 'label', name: 'far' },
  end,
]

describe('the assembler', () => {
  it('writes code, offsets and value of each instruction in little-endian order', () => {
    const bytes = assemble([
      { do: 'load', offset: 16 },
      { do: 'and', value: 0x0f },
      { do: 'jump', if: 'anyBit', value: 0x01020304, otherwise: 'no' },
      { do: 'return', value: 0x7fff0000 },
      { do: 'label', name: 'no' },
      { do: 'return', value: 0x80000000 },
    ])
    expect(Buffer.from(bytes).toString('hex').match(/.{16}/g)).toEqual([
      '2000000010000000',
      '540000000f000000',
      '4500000104030201',
      '060000000000ff7f',
      '0600000000000080',
    ])
  })

  it('takes a jump over 255 instructions and refuses one over 256', () => {
    expect(assemble(farJump(255))[2]).toBe(255)
    expect(() => assemble(farJump(256))).toThrow('the jump to far is longer than 255')
  })

  it('refuses a jump backwards, which the kernel would not load', () => {
    const lines: Line[] = [{ do: 'label', name: 'start' }, end, { do: 'jump', if: 'above', value: 1, to: 'start' }, end]
    expect(() => assemble(lines)).toThrow('the jump to start goes back')
  })

  it('refuses a label that is missing or set twice', () => {
    expect(() => assemble([{ do: 'jump', if: 'equal', value: 1, to: 'nowhere' }, end])).toThrow(
      'label nowhere is not set',
    )
    const label: Line = { do: 'label', name: 'here' }
    expect(() => assemble([label, label, end])).toThrow('label here is set twice')
  })

  it('refuses a program that can run off its end, is empty or is too long', () => {
    expect(() => assemble([{ do: 'load', offset: 0 }])).toThrow('the last instruction does not return')
    expect(() => assemble([])).toThrow('the last instruction does not return')
    expect(() => assemble(Array.from({ length: 4097 }, () => end))).toThrow('4097 instructions are too many')
  })
})
