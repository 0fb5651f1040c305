import { describe, expect, it } from 'vitest'
import { createKeys } from './keys.ts'

const typed = (...texts: readonly string[]): readonly [string, string | undefined][] => {
  const keys = createKeys()
  return texts.map((text) => {
    const { bytes, wish } = keys.take(Buffer.from(text))
    return [Buffer.from(bytes).toString(), wish]
  })
}

describe('keys', () => {
  it('all but one are the guest’s', () => {
    expect(typed('ls\r', '\u0003', '\u001b[A', 'é')).toEqual([
      ['ls\r', undefined],
      ['\u0003', undefined],
      ['\u001b[A', undefined],
      ['é', undefined],
    ])
  })

  it('Ctrl-] and d leave, in one piece or two; what was typed before is still typed', () => {
    expect(typed('ab\u001dd')).toEqual([['ab', 'detach']])
    expect(typed('\u001d', 'd')).toEqual([
      ['', undefined],
      ['', 'detach'],
    ])
  })

  it('Ctrl-] twice is typed once, and with any other key it helps', () => {
    expect(typed('\u001d\u001dx')).toEqual([['\u001dx', undefined]])
    expect(typed('\u001d?')).toEqual([['', 'help']])
  })
})
