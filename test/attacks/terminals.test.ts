// A hostile program that was given a terminal: against whoever else has one, against the screen that is kept of it, and against
// the terminal of the operator who looks at it.
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandLine } from './command-line.ts'
import { isGvisor, openHost, starters, undefended, type AttackHost, type Guest } from './host.ts'
import { typedUndefended, type TerminalFound } from './terminal.ts'

const escape = '\u001b'

describe.each(starters)('terminals, started by %s', (starter) => {
  let host: AttackHost
  let guest: Guest
  beforeAll(async () => {
    host = await openHost(starter)
    guest = await host.sandbox()
  })
  afterAll(() => host.close())

  const terminalOf = (pid: number): string =>
    readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')[4] ?? ''

  it('a guest on a terminal has a session of its own', async () => {
    await guest.probe('type-into-terminal.py')
    const typed = await guest.type('/workspace/probe-type-into-terminal.py; ps -o sid= -p $$; clear')
    const found = JSON.parse(/\{"streams".*\}/.exec(typed)?.[0] ?? typed) as TerminalFound
    expect(found.streams).toEqual([true, true, true])
    // gVisor does not know the request, nor this terminal by its general name.
    const told = isGvisor
      ? { terminal: 'EIO', typed: ['ENOTTY', 'ENOTTY', 'ENOTTY', 'EIO'] }
      : { terminal: 'OPENED', typed: ['EPERM', 'EPERM', 'EPERM', 'EPERM'] }
    expect(found).toMatchObject(told)
    // The first process inside leads the session, or another one inside: a leader outside would be 0. The host's own has no terminal, nor has it
    // got one.
    expect(typed).toMatch(isGvisor ? /\r\n\s*[1-9]\d*\r\n/ : /\r\n\s*1\r\n/)
    expect(terminalOf(host.pid)).toBe('0')
    const control = await typedUndefended()
    expect([control.streams[0], control.terminal]).toEqual([true, 'OPENED'])
  })

  it('a guest finds no terminal but its own', async () => {
    const other = await host.sandbox()
    const waiting = other.type('sleep 2; echo "not $((1 + 1)) spoofed"')
    const look = 'for t in /dev/pts/[0-9]*; do [ "$t" -ef /dev/stdin ] || echo "found $t"; done; echo look"ed"'
    const seen = await guest.type(look)
    expect(seen).toContain('looked')
    expect(seen.replaceAll(/\r\n.*echo "found.*/g, '')).not.toMatch(/\r\nfound \/dev\/pts\/\d/)
    expect(await waiting).toContain('not 2 spoofed')
    // Whoever shares the host's terminals finds them all.
    const control = await undefended([
      '/usr/bin/script',
      '-qec',
      'script -qec "sleep 15" /dev/null >/dev/null & until [ $(ls /dev/pts | grep -c "^[0-9]") -gt 1 ]; do sleep 0.1; done; ls /dev/pts; kill $!',
      '/dev/null',
    ])
    expect(control.stdout.match(/\b\d+\b/g)?.length).toBeGreaterThan(1)
  })

  it("a guest reaches no further than the operator's screen", async () => {
    const reaching = '\\033]52;c;c3RvbGVu\\007\\033[21t\\033P+q544e\\033\\\\drawn'
    const program = ['/bin/sh', '-c', `printf '${reaching}'`]
    const shown = await onTerminalOf(host, guest.workspace, program)
    expect(shown).toContain('drawn')
    for (const sign of [']52;', '[21t', '+q544e']) expect(shown).not.toContain(sign)
    const control = await undefended(['/usr/bin/script', '-qec', `printf '${reaching}'`, '/dev/null'], {
      env: { SHELL: '/bin/sh' },
    })
    for (const sign of [']52;', '[21t', '+q544e']) expect(control.stdout).toContain(sign)
  })
})

describe('the screen that is kept of a terminal', () => {
  let host: AttackHost
  let guest: Guest
  beforeAll(async () => {
    host = await openHost(starters[0] ?? 'user')
    guest = await host.sandbox()
  })
  afterAll(() => host.close())

  it('a guest that draws without end ends its own screen at most', async () => {
    const evil: readonly string[] = [
      `a${escape}[2147483647b`,
      `${escape}[2147483647S${escape}[2147483647L${escape}[2147483647@${escape}[2147483647I`,
      `${escape}[1000S`.repeat(4000),
      `a${'\u0301'.repeat(100_000)}`,
      Array.from(
        { length: 2000 },
        (_, at) => `${escape}]8;;http://${'x'.repeat(2000)}${at}\u0007a${escape}]8;;\u0007`,
      ).join(''),
    ]
    evil.forEach((drawing, at) => writeFileSync(join(guest.workspace, `evil-${at}`), drawing))
    for (const at of evil.keys()) {
      const drawn = host.ask<Drawn>('drawn', {
        sandbox: guest.id,
        command: `cat evil-${at}; echo; echo "still $((1 + 1)) there"`,
      })
      // The program goes on, and so does everything else of the host.
      const begun = performance.now()
      expect((await guest.run('echo beside')).stdout).toBe('beside\n')
      // A screen that is drawn without end would hold it up without end.
      expect(performance.now() - begun).toBeLessThan(15_000)
      const { exitCode, raw, grownMiB } = await drawn
      expect([at, exitCode, raw.includes('still 2 there')]).toEqual([at, 0, true])
      expect(grownMiB).toBeLessThan(300)
    }
    expect(await answersWithin(`${escape}[31mred`, 30_000)).toBe(true)
    expect(await answersWithin(`${escape}[2147483647S`, 2000)).toBe(false)
  })
})

interface Drawn {
  readonly exitCode: number
  readonly raw: string
  readonly grownMiB: number
}

/** A screen with no more than its own sense: does it draw this at all? */
function answersWithin(drawing: string, ms: number): Promise<boolean> {
  const code = `
    const { Terminal } = require('@xterm/headless')
    const { parentPort, workerData } = require('node:worker_threads')
    new Terminal({ allowProposedApi: true }).write(workerData, () => parentPort.postMessage('drawn'))`
  const thread = new Worker(code, { eval: true, workerData: drawing })
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms)
    thread.once('message', () => {
      clearTimeout(timer)
      resolve(true)
    })
  }).then(async (answered) => {
    await thread.terminate()
    return answered as boolean
  })
}

/** `glovebox shell` as the starter has it on a terminal, which script(1) makes. */
async function onTerminalOf(host: AttackHost, workspace: string, argv: readonly string[]): Promise<string> {
  const { words, as } = commandLine(host, ['shell', '--mount', `/workspace=${workspace}`, '--', ...argv])
  const command = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
  const child = spawn('/usr/bin/script', ['-qec', command, '/dev/null'], {
    cwd: host.makeDirectory('operator'),
    env: { PATH: '/usr/bin:/bin', SHELL: '/bin/sh', HOME: workspace, GLOVEBOX_STATE_DIR: host.stateDirectory },
    stdio: ['ignore', 'pipe', 'inherit'],
    ...as,
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await new Promise((resolve) => child.once('close', resolve))
  return output
}
