// The author of a cloned project would like a program to be run on the host: settings that were found say so. They are read before a backend
// is chosen.
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeProject, run, type Project } from '../e2e/command-line.ts'

describe('vaults of a settings file', () => {
  let project: Project
  beforeEach(() => {
    project = makeProject()
  })
  afterEach(() => project.remove())

  it('a settings file that was found cannot have a program run for a vault', async () => {
    const ran = join(project.outside, 'ran')
    const vault = `ops: { command: { password: [/bin/sh, -c, 'touch ${ran}; echo long-enough'] } }\n`
    const settings = join(project.directory, 'glovebox.yaml')
    writeFileSync(settings, `vaults:\n  ${vault}policy:\n  secrets: [ops/password]\n`)
    const exec = (...flags: readonly string[]) =>
      run(['exec', '--secret', 'ops/password', ...flags, '--', 'true'], { cwd: project.directory })
    const found = await exec()
    expect(found.stderr).toContain('would run a program of its choice on the host')
    expect(found.code).toBe(125)
    expect(existsSync(ran)).toBe(false)

    rmSync(settings)
    const own = join(project.outside, 'vaults.yaml')
    writeFileSync(own, vault)
    expect(await exec('--vaults', own)).toMatchObject({ code: 0, stderr: '' })
    expect(existsSync(ran), 'control: named by the operator, it is run').toBe(true)
  })
})
