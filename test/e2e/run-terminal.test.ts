// A run as a person at a terminal sees it. script(1) makes the terminal.
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startScriptedModel } from '../fixtures/scripted-model.ts'
import { glovebox, makeProject, type Project, until } from './command-line.ts'
import { recordOf } from './run-ground.ts'

let project: Project
beforeEach(() => {
  project = makeProject()
  mkdirSync(join(project.outside, 'state'), { mode: 0o700 })
})
afterEach(() => project.remove())

function onTerminal(...argv: readonly string[]) {
  const words = [process.execPath, glovebox, ...argv].map((word) => `'${word}'`).join(' ')
  const child = spawn('/usr/bin/script', ['-qec', words, '/dev/null'], {
    cwd: project.directory,
    env: { ...process.env, SHELL: '/bin/sh', GLOVEBOX_STATE_DIR: join(project.outside, 'state') },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let screen = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (screen += text))
  const finished = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { type: (text: string) => child.stdin.write(text), screen: () => screen, finished }
}

describe('glovebox run on a terminal', () => {
  it('shows the tools as they are called, puts a question, takes the answer, and tells the end', async () => {
    await using provider = await startScriptedModel([
      { text: 'I look around.', calls: [{ name: 'bash', arguments: { command: 'ls -a' } }] },
      { calls: [{ name: 'ask_user', arguments: { question: 'Which colour?', choices: ['red', 'blue'] } }] },
      { calls: [{ name: 'write', arguments: { file_path: '/deliverables/colour.txt', content: 'blue' } }] },
      { text: 'Done.' },
    ])
    writeFileSync(
      join(project.directory, 'glovebox.yaml'),
      JSON.stringify({ model: { model: 'scripted', baseUrl: provider.url, apiKeyEnv: null } }),
    )
    const { type, screen, finished } = onTerminal('run', '--prompt', 'Paint.', '--sandbox', 'runs/painted')
    await until('the question is on the screen', () => screen().includes('answer: '))
    expect(screen()).toContain('→ bash ls -a')
    expect(screen()).toContain('The run asks: Which colour? (red | blue)')
    type('green\n')
    await until('it asks again', () => screen().split('answer: ').length > 2)
    type('blue\n')
    expect(await finished).toBe(0)
    expect(recordOf(join(project.directory, 'runs/painted')).status).toBe('completed')
    for (const told of [
      '→ write /deliverables/colour.txt',
      'deliverables/colour.txt (4 bytes)',
      'glovebox runs verify',
    ])
      expect(screen()).toContain(told)
    expect(provider.heard(2)).toContain('blue')
  })
})
