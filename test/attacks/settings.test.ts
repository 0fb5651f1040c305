// Settings decide what a guest may do. Here somebody who is not the operator tries to decide it: the author of a cloned project, or another
// user of the machine. They are read before a backend is chosen.
import { chmodSync, chownSync, existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Finished, makeProject, type Project, run } from '../e2e/command-line.ts'
import { describeAsRoot } from './describe-where.ts'

let project: Project
beforeEach(() => {
  project = makeProject()
})
afterEach(() => project.remove())

const settings = (): string => join(project.directory, 'glovebox.yaml')
const exec = (argv: readonly string[]): Promise<Finished> => run(['exec', ...argv], { cwd: project.directory })
const wide = 'policy: { network: { mode: full } }\n'

async function modeInForce(): Promise<unknown> {
  const shown = await run(['explain', '--json'], { cwd: project.directory })
  if (shown.code !== 0) return { refused: shown.stderr }
  const { policy } = JSON.parse(shown.stdout) as { policy: { field: string; value: { mode: string } }[] }
  return policy.find(({ field }) => field === 'network')?.value.mode
}

describe('settings', () => {
  it('control: a file of the operator opens the network', async () => {
    writeFileSync(settings(), wide)
    expect(await modeInForce()).toBe('full')
  })

  it('settings that another party could have written are refused', async () => {
    writeFileSync(settings(), wide)
    chmodSync(settings(), 0o666)
    expect(await modeInForce()).toMatchObject({ refused: expect.stringContaining('everybody') })
  })

  it('a settings file that is a symbolic link is refused', async () => {
    writeFileSync(join(project.outside, 'elsewhere.yaml'), wide)
    symlinkSync('../elsewhere.yaml', settings())
    expect(await modeInForce()).toMatchObject({ refused: expect.stringContaining('symbolic link') })
  })

  it('a settings file cannot switch the sandbox off', async () => {
    writeFileSync(settings(), 'backend: local\n')
    const secret = join(project.outside, 'secret')
    writeFileSync(secret, 'the-secret', { mode: 0o644 })
    expect((await exec(['--backend', 'local', '--', 'true'])).code).toBe(125)
    const done = await exec(['--', 'cat', secret])
    expect(done.code).toBe(125)
    expect(done.stderr).toContain('isolates nothing')
    expect(done.stdout).toBe('')
  })

  it('a settings file that was found cannot load code', async () => {
    const mark = join(project.outside, 'loaded')
    writeFileSync(
      join(project.directory, 'evil.mjs'),
      `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(mark)}, '')\n`,
    )
    writeFileSync(settings(), 'pool: { use: "./evil.mjs#openProvider" }\n')
    const done = await exec(['--', 'true'])
    expect([done.code, done.stderr]).toEqual([125, expect.stringContaining('names code to load')])
    expect(existsSync(mark)).toBe(false)
    // The control: the same module does its work where somebody loads it.
    await import(join(project.directory, 'evil.mjs'))
    expect(existsSync(mark)).toBe(true)
  })

  it('settings that cannot be read stop everything, and no default takes their place', async () => {
    for (const text of ['policy: {', '', 'polcy: {}\n', 'policy: { timeoutMs: -1 }\n', '\u0000']) {
      writeFileSync(settings(), text)
      const done = await exec(['--', 'touch', 'ran'])
      expect(done.code, text).toBe(125)
      expect(existsSync(join(project.directory, 'ran'))).toBe(false)
    }
  })
})

describeAsRoot('settings of other users', () => {
  it("a settings file of another user is refused, and root's is not", async () => {
    writeFileSync(settings(), wide)
    chownSync(settings(), 12_345, 12_345)
    expect(await modeInForce()).toMatchObject({ refused: expect.stringContaining('somebody else') })
    chownSync(settings(), 0, 0)
    expect(await modeInForce()).toBe('full')
  })
})
