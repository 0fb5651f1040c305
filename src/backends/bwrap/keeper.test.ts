import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SpawnRequest } from '../../contract/backend.ts'
import type { GuestPath } from '../../contract/mount.ts'
import { canBeKept, goOn, keeperCommand, lineFor } from './keeper.ts'

const request = (more: Partial<SpawnRequest>): SpawnRequest => ({
  argv: ['true'],
  cwd: '/' as GuestPath,
  env: {},
  stdin: 'none',
  ...more,
})

/** The keeper's own script, run by the shell of the machine, without a sandbox: it only reads lines and starts programs. */
function keep(lines: readonly string[]): string {
  const [, , script = ''] = keeperCommand('keeper', [])
  // Any database may have a segment on this machine; what is done about those of a cell, the attack tests show.
  const alone = script.replace('/proc/sysvipc/$kind', '/dev/null')
  expect(alone).not.toBe(script)
  return execFileSync('/bin/sh', ['-c', `exec 6<&0 5>&2 2>/dev/null </dev/null\n${alone}`, 'keeper'], {
    input: lines.map((line) => `${line}\n${goOn}\n`).join(''),
    stdio: ['pipe', 'pipe', 'pipe'],
    encoding: 'utf8',
  })
}

// Characters that mean something to a shell, or to the way in which it stores its own marks.
const hostile = fc.string({
  unit: fc.constantFrom(
    ...`'"\\$\`\n\t;&|(){}[]*?~#!%= -`.split(''),
    'a',
    'é',
    'Á',
    '日',
    '🙂',
    '\u0081',
    '\u0088',
    '\x7f',
    '\x01',
  ),
  maxLength: 30,
})

describe('the line for a keeper', () => {
  it('carries every argument and value unchanged, whatever a shell would make of it', () => {
    fc.assert(
      fc.property(fc.array(hostile, { maxLength: 4 }), hostile, (args, value) => {
        const line = lineFor(
          request({
            argv: ['sh', '-c', 'for each; do printf "<%s>" "$each"; done; printf "[%s]" "$VALUE"', 'name', ...args],
            env: { VALUE: value },
          }),
        )
        expect(line).not.toContain('\n')
        expect(keep([line ?? ''])).toBe(`${args.map((arg) => `<${arg}>`).join('')}[${value}]`)
      }),
      { numRuns: 40 },
    )
  })

  it('is not made for a command that reads its input, nor for one that is too long', () => {
    expect(lineFor(request({ stdin: 'pipe' }))).toBeUndefined()
    expect(lineFor(request({ argv: ['echo', 'x'.repeat(9000)] }))).toBeUndefined()
    expect(lineFor(request({ argv: ['echo', 'é'.repeat(4090)] }))).toBeUndefined()
  })

  it('leaves nothing of one command to the next', () => {
    const ask = request({ argv: ['sh', '-c', 'echo "${VALUE-none} $(pwd)"'] })
    const lines = [lineFor({ ...ask, env: { VALUE: 'x' }, cwd: '/usr' as GuestPath }), lineFor(ask)]
    expect(keep(lines as string[])).toBe('x /usr\nnone /\n')
  })

  it('has no room for variables of the keeper itself', () => {
    expect(canBeKept({ PATH: '/bin' })).toBe(true)
    expect(canBeKept({ GLOVEBOX_KEEPER_LINE_BREAK: 'x' })).toBe(false)
  })
})
