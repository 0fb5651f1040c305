import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GuestPath } from '../../contract/mount.ts'
import { besideCommand, besideLines, canBeKept, keeperCommand, openingLines, requestLines } from './keeper.ts'
import { keeperSight } from './sight.ts'

const at = (cwd: string): GuestPath => cwd as GuestPath
const linesOf = (text: string): readonly string[] => text.split('\n')

describe('the lines that a keeper reads', () => {
  it('are two for each command, and three at the beginning, whatever is in their words', () => {
    const word = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0'))
    fc.assert(
      fc.property(fc.array(word, { minLength: 1 }), word, (argv, value) => {
        const request = { argv: argv as [string, ...string[]], cwd: at('/w'), env: { A: value } }
        expect(linesOf(requestLines('m', request))).toHaveLength(3)
        expect(linesOf(openingLines('m', { A: value }, keeperSight(new Map([[value, 1n]]))))).toHaveLength(4)
      }),
    )
  })

  it('carry arguments, variables and directory unchanged to the command', () => {
    const argv = ['/usr/bin/printf', '%s|', "it's", 'two\nlines', '$HOME `x` "q"', '', '\\', '-n', 'ß€'] as const
    const request = { argv: [...argv] as [string, ...string[]], cwd: at('/'), env: { LATER: "b'\nc" } }
    const [file = '', ...args] = besideCommand
    const said = execFileSync(file, args, {
      input: besideLines('MARK', { PATH: '/usr/bin:/bin' }, request),
      stdio: 'pipe',
    })
    expect(said.toString()).toBe(`${argv.slice(2).join('|')}|MARK exit 0 0\n`)
  })

  it('leave the rest of the input to the command', () => {
    const request = { argv: ['cat'] as [string], cwd: at('/'), env: {} }
    const [file = '', ...args] = besideCommand
    const lines = besideLines('MARK', { PATH: '/usr/bin:/bin' }, request)
    expect(execFileSync(file, args, { input: `${lines}the\0rest`, stdio: 'pipe' }).toString()).toBe(
      'the\0restMARK exit 0 0\n',
    )
  })

  it('tell a directory that cannot be entered', () => {
    const request = { argv: ['true'] as [string], cwd: at('/no/such/place'), env: {} }
    const [file = '', ...args] = besideCommand
    const said = execFileSync(file, args, { input: besideLines('MARK', {}, request), stdio: 'pipe' }).toString()
    expect(said).toBe('MARK nowhere\nMARK exit 125 0\n')
  })

  it('refuse a variable that has a name of their own', () => {
    expect(canBeKept({ GLOVEBOX_KEEPER_MARK: 'x' })).toBe(false)
    expect(canBeKept({ GLOVEBOX_HOME_DIR: 'x' })).toBe(true)
  })
})

describe("a keeper's script", () => {
  it.each([
    { canHide: true, ownNetwork: true },
    { canHide: false, ownNetwork: false },
  ])('is one that a POSIX shell can parse: %j', (traits) => {
    const [, boot = '', , script = ''] = keeperCommand(traits, 'title')
    for (const text of [boot, script]) expect(() => execFileSync('/bin/sh', ['-n', '-c', text])).not.toThrow()
  })
})
