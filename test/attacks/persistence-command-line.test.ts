// The command line lays what protects names before the boundary is started, and only for its first command; so it is attacked apart.
import { spawn } from 'node:child_process'
import { lstatSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { builtInProtectedNames } from '../../src/policy/protect.ts'
import { commandLine } from './command-line.ts'
import { starters, target, undefended, type AttackHost } from './host.ts'
import { attackScene } from './scene.ts'

describe.each(starters)('names that a command line protects, started by %s', (starter) => {
  const scene = attackScene(starter)
  const present = ['.bashrc', '.envrc', '.git/config', '.vscode/tasks.json']
  const mine = (name: string): string => `the owner's ${name}\n`
  const prepare = (directory: string, put: (directory: string, name: string, text: string) => unknown): void => {
    for (const name of present) put(directory, name, mine(name))
  }

  it('a protected name cannot be planted, changed, moved or removed by a single command', async () => {
    const workspace = scene.host().makeDirectory('single')
    prepare(workspace, scene.put)
    const before = treeOf(workspace)
    await exec(scene.host(), workspace, attempts)
    expect(treeOf(workspace)).toEqual(before)

    const control = scene.control()
    prepare(control, scene.putControl)
    await undefended(attempts, { cwd: control })
    const unharmed = present.filter((name) => treeOf(control)[name] === mine(name))
    expect(unharmed, 'control').toEqual([])
    expect(treeOf(control)['.zshrc'], 'control').toBe('PLANTED\n')
  })

  it('what the host puts in the place of a protected name is protected from the next command on', async () => {
    const workspace = scene.host().makeDirectory('replaced')
    prepare(workspace, scene.put)
    const planting = 'echo PLANTED >> .bashrc'
    const results = await twice(scene.host(), workspace, planting, () => {
      const fresh = scene.put(workspace, 'fresh', 'fresh\n')
      renameSync(fresh, join(workspace, '.bashrc'))
    })
    expect(readFileSync(join(workspace, '.bashrc'), 'utf8')).toBe('fresh\n')
    expect(results).toEqual({ first: 2, second: 2 })

    const control = scene.control()
    prepare(control, scene.putControl)
    await undefended(planting, { cwd: control })
    expect(readFileSync(join(control, '.bashrc'), 'utf8'), 'control').toContain('PLANTED')
  })
})

/** Each name is tried by every way that a shell has. What is made beside the names is removed again. */
const attempts = [
  ...builtInProtectedNames.map(
    (name) => `n='${name}'; mkdir -p "$(dirname "$n")"; echo PLANTED > made
    echo PLANTED > "$n"; echo PLANTED >> "$n"; mv -f made "$n"; ln -f made "$n"; ln -sfn made "$n"; truncate -s 0 "$n"; chmod 777 "$n"
    mv "$n" aside; rm -rf "$n"; rm -rf "$n"/*; echo PLANTED > "$n"; echo PLANTED > "$n/planted"; umount "$n"`,
  ),
  'rm -rf made aside',
].join('\n')

/** Names and texts. What the agent has as its home is its own. */
function treeOf(directory: string): Readonly<Record<string, string>> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name !== '.glovebox' && !name.startsWith('.glovebox/'),
  )
  const textOf = (path: string): string => (lstatSync(path).isFile() ? readFileSync(path, 'utf8') : 'no file')
  return Object.fromEntries(names.sort().map((name) => [name, textOf(join(directory, name))]))
}

const starting = (host: AttackHost, workspace: string) => ({
  cwd: workspace,
  env: { PATH: '/usr/bin:/bin', HOME: host.directory, GLOVEBOX_STATE_DIR: host.stateDirectory },
})

async function exec(host: AttackHost, workspace: string, script: string): Promise<void> {
  const { words, as } = commandLine(host, ['exec', '--', '/bin/sh', '-c', `${script}\necho ended`])
  const [program, ...rest] = words
  const child = spawn(program, rest, {
    ...starting(host, workspace),
    ...as,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await new Promise((resolve) => child.once('close', resolve))
  expect(output, 'everything was tried').toContain('ended')
}

/** Runs a command twice in one sandbox of a process that is all ours, and does something between. */
async function twice(host: AttackHost, workspace: string, command: string, between: () => void): Promise<unknown> {
  const script = join(import.meta.dirname, 'owned-process.mjs')
  const program = join(host.directory, 'owned-process.mjs')
  writeFileSync(program, readFileSync(script))
  const options = JSON.stringify({ ...target, mounts: [{ guestPath: '/workspace', hostPath: workspace, mode: 'rw' }] })
  const { as } = commandLine(host, ['exec'])
  const child = spawn(process.execPath, [program, host.packageDirectory, options, command], {
    ...starting(host, workspace),
    ...as,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let output = ''
  let isBetween = false
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (isBetween || !output.includes('\n')) return
    isBetween = true
    between()
    child.stdin.end('go on\n')
  })
  await new Promise((resolve) => child.once('close', resolve))
  return JSON.parse(output.split('\n').at(1) ?? '{}')
}
