import { chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeRunGround, type RunGround } from './run-ground.ts'

let ground: RunGround
beforeEach(() => {
  ground = makeRunGround()
})
afterEach(() => ground.remove())

// Root may write everywhere by two of its rights; without them it is held by the modes of files as anybody is.
const asOrdinaryUser =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search', '--'] : []

const request = ['run', '--json', '--backend', 'local', '--prompt', 'x']

interface Told {
  readonly error: { readonly code: string; readonly hint?: string }
}
const told = (stdout: string): Told => JSON.parse(stdout) as Told

describe('a mistake of the operator is told as one, with a hint, and never as a fault of Glovebox', () => {
  it.each([
    ['run in a directory that cannot be written', '.', []],
    ['run with its runs in a directory that cannot be written', 'runs', []],
    ['run at a place that cannot be made', '.', ['--sandbox', 'a/b/c']],
  ])('%s', async (_, closed, flags) => {
    mkdirSync(join(ground.directory, closed), { recursive: true })
    chmodSync(join(ground.directory, closed), 0o555)
    const done = await ground.glovebox([...request, ...flags, '--', 'true'], { through: asOrdinaryUser })
    expect(done.code).toBe(125)
    expect(told(done.stdout).error).toMatchObject({
      code: 'NOT_PERMITTED',
      hint: expect.stringContaining('--sandbox DIR') as string,
    })
  })

  it('run through a link that leads nowhere', async () => {
    symlinkSync(join(ground.outside, 'nowhere'), join(ground.directory, 'link'))
    const done = await ground.glovebox([...request, '--sandbox', 'link/x', '--', 'true'])
    expect(done.code).toBe(125)
    expect(told(done.stdout).error).toMatchObject({
      code: 'NOT_FOUND',
      hint: expect.stringContaining('--sandbox DIR') as string,
    })
  })

  it.each([
    ['exec', 125, ['exec', '--json', '--', 'true']],
    ['run', 125, [...request, '--', 'true']],
    ['doctor', 1, ['doctor', '--json']],
  ])('%s in a directory that was removed', async (_, code, argv) => {
    const done = await ground.glovebox(argv, { through: ['sh', '-c', 'rmdir "$PWD" && exec "$@"', 'sh'] })
    expect(done.code).toBe(code)
    expect(told(done.stdout).error).toMatchObject({
      code: 'NOT_FOUND',
      hint: expect.stringContaining('cd ') as string,
    })
  })
})
