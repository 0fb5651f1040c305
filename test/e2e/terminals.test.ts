// Programs that draw, driven through a pseudo-terminal as a person would: vim, top, less and python3. Resizing reaches them, and
// whoever comes back sees the same screen.
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../src/contract/sandbox.ts'
import type { Terminal } from '../../src/contract/shell.ts'
import { isRequired } from '../conformance/required.ts'
import { library } from './client-ground.ts'
import { makeProject, type Project } from './command-line.ts'
import { comeBack, follow, openViewer, type Viewer } from './terminal-ground.ts'

const size = { cols: 80, rows: 24 }
const escape = '\u001b'

interface Ground {
  /** As GLOVEBOX_REQUIRE names it. */
  readonly name: string
  readonly make: NonNullable<Parameters<typeof library.Sandbox.create>[0]>
}

const grounds: readonly Ground[] = [
  { name: 'bwrap', make: { backend: 'bwrap' } },
  { name: 'docker', make: { backend: 'docker', docker: { image: 'glovebox/sandbox:latest' } } },
  {
    name: 'docker-runsc',
    make: { backend: 'docker', docker: { image: 'glovebox/sandbox:bullseye', runtime: 'runsc' } },
  },
]
const missing = ({ make: { docker } }: Ground): string => {
  const image = docker?.image
  if (image === undefined) return ''
  return spawnSync('docker', ['image', 'inspect', image]).status === 0 ? '' : ` [no Docker daemon with ${image}]`
}

let sandbox: Sandbox

interface Sitting {
  readonly terminal: Terminal
  readonly viewer: Viewer
  type(text: string): Promise<void>
}

async function sitAt(...argv: readonly [string, ...string[]]): Promise<Sitting> {
  const terminal = await sandbox.shells.open({ pty: size, argv })
  const viewer = openViewer(size)
  void follow(viewer, terminal.read())
  return { terminal, viewer, type: (text) => terminal.write(text) }
}

/** A second look through other eyes must show the same. */
async function expectSame(terminal: Terminal, viewer: Viewer): Promise<void> {
  const compared = async (): Promise<string> => {
    const again = (await comeBack(terminal)).text()
    return again === viewer.text() ? 'the same' : `${again}\n--- and before:\n${viewer.text()}`
  }
  // What is being drawn at this moment may have reached one of them only.
  await expect.poll(compared).toBe('the same')
}

async function resize({ terminal, viewer }: Sitting, cols: number, rows: number): Promise<void> {
  viewer.resize({ cols, rows })
  await terminal.resize({ cols, rows })
}

describe.for(grounds.map((ground) => ({ ...ground, lack: missing(ground) })))(
  'on a terminal',
  ({ name, make, lack }) => {
    describe.skipIf(lack !== '' && !isRequired(name))(`of ${name}${lack}`, () => {
      drawing(make)
    })
  },
)

function drawing(make: Ground['make']): void {
  let project: Project
  beforeAll(async () => {
    project = makeProject()
    mkdirSync(join(project.outside, 'state'), { mode: 0o700 })
    process.env['GLOVEBOX_STATE_DIR'] = join(project.outside, 'state')
    sandbox = await library.Sandbox.create(make)
  })
  afterAll(async () => {
    await sandbox?.kill()
    project.remove()
  })

  it('vim edits a file, draws itself anew after a resize, and is seen the same by whoever comes back', async () => {
    const sitting = await sitAt('/usr/bin/vim', '-u', 'NONE', '-i', 'NONE', 'poem.txt')
    const { terminal, viewer, type } = sitting
    await viewer.until('vim shows a new file', (screen) => screen.includes('~') && screen.includes('poem.txt'))
    await type('iroses are red\rviolets are blue')
    await viewer.until('the text is there', (screen) => screen.startsWith('roses are red\nviolets are blue'))
    await expectSame(terminal, viewer)
    await resize(sitting, 100, 40)
    await viewer.until('vim fills the larger screen', () => viewer.lines()[38]?.startsWith('~') === true)
    await expectSame(terminal, viewer)
    await type(`${escape}:wq\r`)
    expect(await terminal.ended).toEqual({ ended: { by: 'exit', code: 0 }, exitCode: 0 })
    expect(await sandbox.files.read('/workspace/poem.txt')).toBe('roses are red\nviolets are blue\n')
  })

  it('top draws its table again and again, in the size that it is given, and leaves with q', async () => {
    const sitting = await sitAt('/usr/bin/top', '-d', '0.3')
    const { terminal, viewer, type } = sitting
    await viewer.until('the table is there', (screen) => screen.startsWith('top - ') && /PID USER/.test(screen))
    const first = viewer.lines()[0]
    await viewer.until('it is drawn again', () => viewer.lines()[0] !== first, 15_000)
    await resize(sitting, 60, 12)
    await viewer.until('the table fits the smaller screen', () => viewer.lines().every((line) => line.length <= 60))
    await type('q')
    expect((await terminal.ended).exitCode).toBe(0)
  })

  it('less shows a page, goes to the end and back, and finds a word', async () => {
    await sandbox.files.write(
      '/workspace/long.txt',
      Array.from({ length: 500 }, (_, at) => `line ${at + 1}\n`).join(''),
    )
    const sitting = await sitAt('/usr/bin/less', 'long.txt')
    const { terminal, viewer, type } = sitting
    await viewer.until('the first page', (screen) => screen.startsWith('line 1\n') && screen.includes('line 23'))
    await type('G')
    await viewer.until('the last page', (screen) => screen.includes('line 500'))
    await expectSame(terminal, viewer)
    await type('/line 77\r')
    await type('g/line 77\r')
    await viewer.until('the word that was looked for', () => viewer.lines()[0] === 'line 77')
    await resize(sitting, 80, 10)
    await viewer.until('a page of the new size', (screen) => screen.includes('line 85') && !screen.includes('line 90'))
    await expectSame(terminal, viewer)
    await type('q')
    expect((await terminal.ended).exitCode).toBe(0)
  })

  it('python3 answers line by line, is interrupted, and keeps what it was told', async () => {
    const sitting = await sitAt('/usr/bin/python3', '-q')
    const { terminal, viewer, type } = sitting
    await viewer.until('the prompt', (screen) => screen.includes('>>>'))
    await type('kept = 6 * 7\r')
    await type('while True: pass\r\r')
    await viewer.until('the endless loop', (screen) => screen.includes('while True'))
    await new Promise((resolve) => setTimeout(resolve, 300))
    await type('\u0003')
    await viewer.until('the interrupt', (screen) => screen.includes('KeyboardInterrupt'))
    await type('import os; print(kept, os.get_terminal_size().columns, os.isatty(0))\r')
    await viewer.until('the answer', (screen) => screen.includes('42 80 True'))
    await resize(sitting, 132, 43)
    // Docker hands a size on by another way than what is typed.
    await type('while os.get_terminal_size().columns != 132: pass\r\r')
    await type('print(os.get_terminal_size())\r')
    await viewer.until('the new size', (screen) => screen.includes('columns=132, lines=43'))
    await expectSame(terminal, viewer)
    await type('raise SystemExit(7)\r')
    expect((await terminal.ended).exitCode).toBe(7)
  })

  it('a shell has jobs: one is stopped, sent to the background, and brought back', async () => {
    const { terminal, viewer, type } = await sitAt('/bin/bash', '--norc', '-i')
    await viewer.until('the prompt', (screen) => screen.includes('$'))
    // It says when it is there: what is typed before is the shell's.
    await type('sh -c "echo be$((1))gun; exec sleep 100"\r')
    await viewer.until('it is there', (screen) => screen.includes('be1gun'))
    await type('\u001a')
    await viewer.until('it is stopped', (screen) => /\[1\]\+\s+Stopped\s+sh -c/.test(screen))
    await type('bg\r')
    await viewer.until('it runs behind', (screen) => screen.includes('[1]+ sh -c'))
    await type('fg\r')
    await viewer.until('it is named as the one in front', (screen) => /fg\nsh -c/.test(screen))
    await new Promise((resolve) => setTimeout(resolve, 300))
    await type('\u0003')
    await type('clear; echo "left: $(jobs | wc -l) $?"\r')
    await viewer.until('it is gone', (screen) => screen.includes('left: 0 0'))
    await type('exit 5\r')
    expect((await terminal.ended).exitCode).toBe(5)
  })
}
