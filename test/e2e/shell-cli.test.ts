// `glovebox shell` as a person at a terminal meets it, here and on a server.
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openClientGround, type ClientGround } from './client-ground.ts'
import { makeProject, run, until, type Project } from './command-line.ts'
import { sit, type Person } from './seated.ts'

let project: Project
let env: Readonly<Record<string, string>>
beforeAll(() => {
  project = makeProject()
  mkdirSync(join(project.outside, 'state'), { mode: 0o700 })
  env = { GLOVEBOX_STATE_DIR: join(project.outside, 'state') }
})
afterAll(() => project.remove())

const sitDown = (
  argv: readonly string[],
  more: Readonly<Record<string, string>> = {},
  { stderr = false }: { readonly stderr?: boolean } = {},
): Person => sit(argv, { cwd: project.directory, env: { ...env, ...more }, stderr })

/** In the words of a shell. What is typed is seen as well, so the size is not written there as `stty` writes it. */
const untilSize = (wanted: string): string => `until [ "$(stty size | tr " " x)" = ${wanted} ]; do sleep 0.05; done`

describe('glovebox shell', () => {
  it('is a shell in the project, resized with the terminal, and ends with the code of its own', async () => {
    writeFileSync(join(project.directory, 'here.txt'), 'here\n')
    const person = sitDown(['shell'])
    await person.viewer.until('the prompt', (screen) => /[$#] ?$/.test(screen))
    person.type('cat here.txt; pwd; tty; stty size; echo made > made.txt\r')
    await person.viewer.until('the answers', (screen) => /here\n\/workspace\n\/dev\/.*\n25 90/.test(screen))
    person.resize({ cols: 110, rows: 30 })
    person.type(`${untilSize('30x110')}; stty size\r`)
    await person.viewer.until('the new size', (screen) => screen.includes('30 110'))
    person.type('exit 9\r')
    expect(await person.finished).toBe(9)
    expect(readFileSync(join(project.directory, 'made.txt'), 'utf8')).toBe('made\n')
  })

  it('runs another program instead, and Ctrl-C is its to answer', async () => {
    const script = 'trap "echo caught; n=1" INT; echo ready; until [ "$n" ]; do sleep 0.05; done; read line; exit 4'
    const person = sitDown(['shell', '--', '/bin/sh', '-c', script])
    await person.viewer.until('it is there', (screen) => screen.includes('ready'))
    person.type('\u0003')
    await person.viewer.until('it goes on', (screen) => screen.includes('caught'))
    person.type('\r')
    expect(await person.finished).toBe(4)
  })

  it('gives the terminal back as it was, and shows nothing that reaches beyond the screen', async () => {
    const script =
      'printf "\\033[?1049h\\033[?25l\\033[?2004hdrawn\\033]52;c;c3RvbGVu\\007\\033P+q544e\\033\\\\"; sleep 0.2; exit 3'
    const person = sitDown(['shell', '--', '/bin/sh', '-c', script])
    expect(await person.finished).toBe(3)
    const given = ['drawn', '\u001b[?2004l', '\u001b[?1049l', '\u001b[?25h']
    await until('all that it said has come', () => given.every((each) => person.raw().includes(each)))
    expect(person.raw()).not.toContain('52;c')
    expect(person.raw()).not.toContain('q544e')
  })

  it('needs a terminal, and says what to do without one', async () => {
    const told = await run(['shell'], { cwd: project.directory, env })
    expect([told.code, told.stdout]).toEqual([125, ''])
    expect(told.stderr).toContain('this is no terminal')
    expect(told.stderr).toContain('glovebox exec')
    const far = await run(['shell', '--sandbox', 'sbx_1'], { cwd: project.directory, env })
    expect([far.code, far.stderr]).toEqual([125, expect.stringContaining('--server')])
  })
})

describe('glovebox shell --attach', () => {
  it('flags of a new shell are refused where one is come back to', async () => {
    const server = ['--server', 'http://127.0.0.1:1', '--sandbox', 'sbx_1']
    for (const flags of [
      ['--net', 'none'],
      ['--memory', '1g'],
      ['--cwd', '/tmp'],
      ['--env', 'A=b'],
    ])
      for (const where of [[], server]) {
        const person = sitDown(['shell', '--attach', 'sh_1', ...where, ...flags], {}, { stderr: true })
        expect(await person.finished).toBe(125)
        await until('it is told', () => person.raw().includes(`Cannot use ${flags[0]} with --attach`))
      }
  })
})

describe('glovebox shell that is left', () => {
  const leftAs = (told: string): string => /--attach (sh_\w+)\s/.exec(told)?.[1] ?? ''
  const listed = async (): Promise<readonly string[]> => {
    const { stdout } = await run(['shell', '--list', '--json'], { cwd: project.directory, env })
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { readonly id: string }).id)
  }
  const leave = async (person: Person): Promise<string> => {
    person.type('\u001dd')
    expect(await person.finished).toBe(0)
    await until('it is told how to come back', () => leftAs(person.raw()) !== '')
    return leftAs(person.raw())
  }

  it('goes on without a server, and is come back to with its screen and its jobs; it ends with its program', async () => {
    const first = sitDown(['shell'])
    await first.viewer.until('the prompt', (screen) => /[$#] ?$/.test(screen))
    first.type('kept=there; echo before; (sleep 1; echo meanwhile) &\r')
    await first.viewer.until('the answer', (screen) => screen.includes('\nbefore'))
    const id = await leave(first)
    expect(await listed()).toEqual([id])
    await new Promise((resolve) => setTimeout(resolve, 1200))
    const second = sitDown(['shell', '--attach', id.slice(0, 20)])
    await second.viewer.until('the screen as it stands', (screen) => /before[^]*meanwhile/.test(screen))
    second.resize({ cols: 70, rows: 20 })
    second.type(`${untilSize('20x70')}; clear; echo "$kept" $(stty size)\r`)
    await second.viewer.until('the variable and the size', (screen) => screen.includes('there 20 70'))
    expect(await leave(second)).toBe(id)
    const third = sitDown(['shell', '--attach', id])
    await third.viewer.until('it is still there', (screen) => screen.includes('there 20 70'))
    third.type('exit 7\r')
    expect(await third.finished).toBe(7)
    expect(await listed()).toEqual([])
    const late = sitDown(['shell', '--attach', id])
    expect(await late.finished).toBe(125)
  })

  it('survives a terminal that is closed once it was left, and not before; `glovebox stop` ends it', async () => {
    const beats = join(project.directory, 'beats')
    const script = 'echo ready; while :; do echo x >> beats; sleep 0.05; done'
    const length = (): number => statSync(beats, { throwIfNoEntry: false })?.size ?? 0
    /** False when it has been still for so long. */
    const isBeating = async (patienceMs: number): Promise<boolean> => {
      const before = length()
      for (const giveUpAt = performance.now() + patienceMs; length() === before && performance.now() < giveUpAt;)
        await new Promise((resolve) => setTimeout(resolve, 50))
      return length() > before
    }
    const lost = sitDown(['shell', '--', '/bin/sh', '-c', script])
    await lost.viewer.until('it runs', (screen) => screen.includes('ready'))
    lost.hangUp()
    await lost.finished
    await until('it has ended with its terminal', () => listedNow(project) === 0)
    expect(await isBeating(600)).toBe(false)

    const person = sitDown(['shell', '--', '/bin/sh', '-c', script])
    await person.viewer.until('it runs', (screen) => screen.includes('ready'))
    const id = await leave(person)
    const back = sitDown(['shell', '--attach', id])
    await back.viewer.until('the screen', (screen) => screen.includes('ready'))
    back.hangUp()
    await back.finished
    expect(await isBeating(20_000)).toBe(true)
    const told = await run(['stop', id], { cwd: project.directory, env })
    expect([told.code, told.stdout]).toEqual([0, `${id}\n`])
    expect(await isBeating(600)).toBe(false)
    expect([await listed(), listedNow(project)]).toEqual([[], 0])
    expect((await run(['stop', id], { cwd: project.directory, env })).code).toBe(1)
  })

  it('whoever is killed at it takes it along until it was left; a holder that is killed is told, and swept', async () => {
    const killed = sitDown(['shell', '--', '/bin/sh', '-c', 'echo ready; sleep 100'])
    await killed.viewer.until('it runs', (screen) => screen.includes('ready'))
    killed.kill('SIGKILL')
    await until('nothing is left of it', () => listedNow(project) === 0)

    const person = sitDown(['shell', '--', '/bin/sh', '-c', 'echo ready; sleep 100'])
    await person.viewer.until('it runs', (screen) => screen.includes('ready'))
    const [note = ''] = notesOf(project)
    const { holder } = JSON.parse(readFileSync(note, 'utf8')) as { readonly holder: { readonly pid: number } }
    process.kill(holder.pid, 'SIGKILL')
    expect(await person.finished).toBe(125)
    expect(await listed()).toEqual([])
    expect(listedNow(project)).toBe(0)
  })

  it('says what is wrong where the sandbox cannot be made', async () => {
    const person = sitDown(['shell', '--backend', 'nosuch'], {}, { stderr: true })
    expect(await person.finished).toBe(125)
    // The one who sat there is gone before all that it said has come, and before its holder has tidied up.
    await until('it is told', () => person.raw().includes('nosuch'))
    await until('nothing is left of it', () => listedNow(project) === 0)
  })
})

const heldIn = ({ outside }: Project): string => join(outside, 'state', 'shells')
const notesOf = (at: Project): readonly string[] =>
  readdirSync(heldIn(at)).flatMap((name) => (name.endsWith('.json') ? [join(heldIn(at), name)] : []))
const listedNow = (at: Project): number => readdirSync(heldIn(at)).length

describe('glovebox shell --server', () => {
  let ground: ClientGround
  beforeAll(async () => {
    ground = await openClientGround()
  })
  afterAll(async () => {
    await ground[Symbol.asyncDispose]()
  })
  const far = (...argv: readonly string[]): Person =>
    sitDown(['shell', '--server', ground.url, ...argv], { GLOVEBOX_TOKEN: ground.token })
  /** Where the command line says that one can come back to. */
  const backIn = (told: string): readonly [string, string] => {
    const [, sandbox = '', shell = ''] = /--sandbox (sbx_\w+) --attach (sh_\w+)\s/.exec(told) ?? []
    return [sandbox, shell]
  }

  it('is left with Ctrl-] d, goes on alone, and is come back to with the screen as it stands', async () => {
    const first = far()
    await first.viewer.until('the prompt', (screen) => /[$#] ?$/.test(screen))
    first.type('echo before; (sleep 1; echo meanwhile) &\r')
    await first.viewer.until('the answer', (screen) => screen.includes('\nbefore'))
    first.type('\u001d?')
    await first.viewer.until('the help', (screen) => screen.includes('leaves the terminal to itself'))
    first.type('\u001dd')
    expect(await first.finished).toBe(0)
    await until('it is told how to come back', () => backIn(first.raw())[1] !== '')
    const [sandbox, shell] = backIn(first.raw())
    await new Promise((resolve) => setTimeout(resolve, 1200))
    const second = far('--sandbox', sandbox, '--attach', shell)
    await second.viewer.until(
      'the screen as it stands',
      (screen) => screen.includes('before') && screen.includes('meanwhile'),
    )
    second.type('exit 7\r')
    expect(await second.finished).toBe(7)
  })

  it('a terminal that is closed leaves the shell behind, and a new shell can join its sandbox', async () => {
    const first = far()
    await first.viewer.until('the prompt', (screen) => /[$#] ?$/.test(screen))
    first.type("echo kept > kept.txt; echo writ''ten\r")
    await first.viewer.until('it is written', (screen) => screen.includes('written'))
    const sandbox = String(
      ((await fetchJson(`${ground.url}/sandboxes`, ground.token))['items'] as readonly { readonly id: string }[])[0]
        ?.id,
    )
    first.hangUp()
    await first.finished
    const second = far('--sandbox', sandbox, '--', '/bin/sh', '-c', 'cat kept.txt; exit 2')
    expect(await second.finished).toBe(2)
    await until('what it said has come', () => second.raw().includes('kept'))
    const shells = await fetchJson(`${ground.url}/sandboxes/${sandbox}/shells`, ground.token)
    expect((shells['items'] as readonly unknown[]).length).toBe(1)
  })

  it('ends its sandbox with its program, unless that was killed: then all that it did is kept, and it is told where', async () => {
    const isThere = async (id: string): Promise<boolean> =>
      (await fetch(`${ground.url}/sandboxes/${id}`, { headers: { authorization: `Bearer ${ground.token}` } })).ok
    const seated = (): Person =>
      sitDown(['shell', '--server', ground.url], { GLOVEBOX_TOKEN: ground.token }, { stderr: true })
    const killed = seated()
    await killed.viewer.until('the prompt', (screen) => /[$#] ?$/.test(screen))
    killed.type('echo kept > kept.txt; kill -9 $$\r')
    expect(await killed.finished).toBe(137)
    const kept = (): string => /--sandbox (sbx_\w+)\s/.exec(killed.raw())?.[1] ?? ''
    await until('it is told where', () => kept() !== '')
    expect(await isThere(kept())).toBe(true)
    const back = far('--sandbox', kept())
    await back.viewer.until('the prompt', (screen) => /[$#] ?$/.test(screen))
    back.type('cat kept.txt\r')
    await back.viewer.until('what was kept', (screen) => screen.includes('\nkept'))
    back.type('exit 3\r')
    expect(await back.finished).toBe(3)
    expect(await isThere(kept())).toBe(true)
    const before = (await fetchJson(`${ground.url}/sandboxes`, ground.token))['items'] as readonly unknown[]
    const ended = seated()
    await ended.viewer.until('the prompt', (screen) => /[$#] ?$/.test(screen))
    ended.type('exit 4\r')
    expect(await ended.finished).toBe(4)
    expect((await fetchJson(`${ground.url}/sandboxes`, ground.token))['items']).toHaveLength(before.length)
  })
})

async function fetchJson(url: string, token: string): Promise<Readonly<Record<string, unknown>>> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  return (await answer.json()) as Readonly<Record<string, unknown>>
}
