// A guest that works in a directory tries to leave settings there for the next command.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeProject, type Project, run } from '../e2e/command-line.ts'
import { placeSettings } from './command-line.ts'
import { attackedBackend } from './host.ts'

let project: Project
beforeEach(() => {
  project = makeProject()
  placeSettings(project.outside)
})
afterEach(() => project.remove())

const settings = (): string => join(project.directory, 'glovebox.yaml')
const wide = 'policy: { network: { mode: full } }\n'
async function exec(script: string): Promise<void> {
  const words = ['exec', '--backend', attackedBackend, '--', 'sh', '-c', `${script}; echo tried`]
  const done = await run(words, { cwd: project.directory })
  expect(done.stdout, done.stderr).toContain('tried\n')
}

async function modeInForce(cwd = project.directory): Promise<unknown> {
  const shown = await run(['explain', '--json', '--backend', attackedBackend], { cwd })
  if (shown.code !== 0) return { refused: shown.stderr }
  const { policy } = JSON.parse(shown.stdout) as { policy: { field: string; value: { mode: string } }[] }
  return policy.find(({ field }) => field === 'network')?.value.mode
}

describe('settings that a guest leaves', () => {
  it('a guest cannot make settings for the workspace that it works in', async () => {
    await exec(`printf '${wide.trim()}' > glovebox.yaml`)
    expect(existsSync(settings())).toBe(false)
    expect(await modeInForce()).toBe('none')
    // The control: a name that nobody protects is written by the same command.
    await exec(`printf '${wide.trim()}' > other.yaml`)
    expect(readFileSync(join(project.directory, 'other.yaml'), 'utf8')).toBe(wide.trim())
  })

  it('settings that a guest plants in a subdirectory are refused', async () => {
    await exec(`mkdir planted && printf '${wide.trim()}' > planted/glovebox.yaml`)
    const planted = join(project.directory, 'planted')
    expect(existsSync(planted)).toBe(true)
    // Whether the name is protected down there or only refused when it is found, it must not be obeyed.
    expect(await modeInForce(planted)).not.toBe('full')
    mkdirSync(join(project.directory, 'later'))
    writeFileSync(join(project.directory, 'later/glovebox.yaml'), wide)
    expect(await modeInForce(join(project.directory, 'later'))).toMatchObject({
      refused: expect.stringContaining('in which a sandbox can write'),
    })
  })
})
