import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GloveboxError } from '../../errors/error.ts'
import { checkCommand } from './check.ts'
import { allowedNames } from './table.ts'

const verdict = (...argv: string[]): string => {
  try {
    checkCommand(argv)
    return 'allowed'
  } catch (error) {
    return error instanceof GloveboxError ? error.code : 'not ours'
  }
}

describe('run_command allows looking', () => {
  it.each([
    ['pwd'],
    ['env'],
    ['ls', '-la', '/workspace'],
    ['cat', '-n', 'a', 'b'],
    ['head', '-5', 'a'],
    ['head', '-n', '5', 'a'],
    ['tail', '-n5', 'a'],
    ['tail', '--lines=5', 'a'],
    ['wc', '-l', '--', '-odd-name'],
    ['sort', '-nr', '-k2,2', '-t', ',', 'a'],
    ['uniq', '-c', 'a'],
    ['cut', '-d:', '-f', '1', 'a'],
    ['date', '+%s'],
    ['diff', '-u', 'a', 'b'],
    ['stat', '-c', '%s', 'a'],
    ['basename', '/a/b.txt', '.txt'],
  ])('%s %s %s %s', (...argv) => {
    expect(verdict(...argv.filter((argument) => argument !== undefined))).toBe('allowed')
  })
})

describe('run_command refuses what writes, starts programs or never ends', () => {
  it.each([
    ['rm', 'a'],
    ['sh', '-c', 'id'],
    ['/bin/ls'],
    ['./ls'],
    ['', 'x'],
    ['__proto__'],
    ['constructor'],
    ['env', 'sh'],
    ['env', 'A=1'],
    ['env', '-S', 'sh'],
    ['env', '-i', 'sh'],
    ['env', '--', 'sh'],
    ['sort', '-o', 'out', 'in'],
    ['sort', '-oout', 'in'],
    ['sort', 'in', '-no', 'out'],
    ['sort', '--output=out', 'in'],
    ['sort', '--outp', 'out', 'in'],
    ['sort', '--compress-program=sh', 'in'],
    ['sort', '-T', '/workspace', 'in'],
    ['uniq', 'in', 'out'],
    ['uniq', '--', 'in', 'out'],
    ['uniq', '-f', '1', 'in', 'out'],
    ['date', '-s', 'now'],
    ['date', '--set=now'],
    ['date', '01010000'],
    ['date', '--', '01010000'],
    ['date', '--iso-8601', '01010000'],
    ['tail', '-f', 'a'],
    ['tail', '-nf', '--follow'],
    ['tail', '-5f', 'a'],
    ['tail', '-F', 'a'],
    ['file', '-C', '-m', 'x'],
    ['file', '-z', 'x'],
    ['diff', '-l', 'a', 'b'],
    ['diff', '--paginate', 'a', 'b'],
    ['wc', '--files0-from=a'],
    ['find', '.', '-delete'],
    ['ls', '--color=always'],
    ['head', '-n'],
  ])('%s %s %s %s %s', (...argv) => {
    expect(verdict(...argv.filter((argument) => argument !== undefined))).toBe('COMMAND_NOT_ALLOWED')
  })

  it('never lets sort write, whatever the order of its arguments', () => {
    const safe = fc.constantFrom('-n', '-k1', '-u', 'file', '--reverse')
    const hostile = fc.constantFrom('-oX', '-no', '--output=X', '--output', '--compress-program=sh', '-ro')
    fc.assert(
      fc.property(fc.array(safe), hostile, fc.array(safe), (before, bad, after) => {
        expect(verdict('sort', ...before, bad, ...after)).toBe('COMMAND_NOT_ALLOWED')
      }),
    )
  })

  it('suggests the nearest program and names the way out', () => {
    expect(() => checkCommand(['catt'])).toThrow(/not in the read-only set/)
    expect(allowedNames).toContain('cat')
  })
})
