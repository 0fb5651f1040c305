// A hostile agent that has the actions and tools only, and a hostile program whose output they show.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Sandbox } from '../../src/index.ts'
import type { GrepResult } from '../../src/contract/sandbox.ts'
import { tools } from '../../src/tools/tools.ts'

let project: string
let sandbox: Sandbox
beforeEach(async () => {
  project = mkdtempSync(join(tmpdir(), 'glovebox-actions-'))
  // The guest's PATH begins in its workspace, as a careless operator might have it.
  sandbox = await Sandbox.create({
    backend: 'bwrap',
    mounts: [{ guestPath: '/workspace', hostPath: project, mode: 'rw' }],
    env: { PATH: '/workspace:/usr/bin:/bin' },
  })
})
afterEach(async () => {
  await sandbox.kill()
  rmSync(project, { recursive: true, force: true })
})
const written = (): boolean => existsSync(join(project, 'out'))

describe('actions', () => {
  it('run_command neither writes nor starts other programs', async () => {
    writeFileSync(join(project, 'in'), 'x\n')
    for (const argv of [
      ['sort', '-o', 'out', 'in'],
      ['sort', 'in', '--output=out'],
      ['uniq', 'in', 'out'],
      ['env', 'touch', 'out'],
      ['env', '-S', 'touch out'],
      ['find', '.', '-fprint', 'out'],
      ['tee', 'out'],
      ['xxd', 'in', 'out'],
    ]) {
      await expect(sandbox.execute('run_command', { argv }), argv.join(' ')).rejects.toMatchObject({
        code: 'COMMAND_NOT_ALLOWED',
      })
      expect(written()).toBe(false)
    }
  })

  it('control: the same command lines write when a command may be anything', async () => {
    writeFileSync(join(project, 'in'), 'x\n')
    await sandbox.commands.run(['sort', '-o', 'out', 'in'])
    expect(written()).toBe(true)
  })

  it('run_command does not take a program from the workspace', async () => {
    writeFileSync(join(project, 'ls'), '#!/bin/sh\necho planted\n')
    chmodSync(join(project, 'ls'), 0o755)
    expect((await sandbox.commands.run(['ls'])).stdout, 'control').toBe('planted\n')
    expect(await sandbox.execute('run_command', { argv: ['ls'] })).toMatchObject({
      stdout: expect.not.stringContaining('planted') as string,
    })
  })

  it('a search does not follow a symlink out of its root', async () => {
    for (const name of ['root', 'beside']) mkdirSync(join(project, name))
    writeFileSync(join(project, 'beside/secret'), 'needle\n')
    symlinkSync('../beside', join(project, 'root/link'))
    expect((await sandbox.commands.run('grep -R needle root')).stdout, 'control').toContain('needle')
    const found = (await sandbox.execute('grep_text', {
      pattern: 'needle',
      path: 'root',
      includeIgnored: true,
    })) as GrepResult
    expect(found.matches).toEqual([])
    expect(await sandbox.execute('glob_entries', { pattern: '**/secret', path: 'root' })).toMatchObject({ paths: [] })
  })

  it("escape sequences in output do not reach the agent's text", async () => {
    const bash = tools(sandbox).find((tool) => tool.name === 'bash')
    const command = String.raw`printf '\033]0;owned\007\033[2Jshown\033[8mhidden\n'`
    expect((await sandbox.commands.run(command)).stdout, 'control').toContain('\u001B[2J')
    expect((await bash?.run({ command }))?.text).toBe('shownhidden\nExit code: 0')
  })
})
