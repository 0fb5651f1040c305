import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Process, SpawnRequest } from '../../contract/backend.ts'
import type { Terminal } from '../../contract/shell.ts'
import type { ConformanceCase } from '../case.ts'
import { heartbeat, isStill, refused, waitForBeat } from '../expect.ts'
import { guest } from '../spec.ts'

const size = { cols: 91, rows: 33 }

const onTerminal = (script: string): SpawnRequest => ({
  argv: ['/bin/sh', '-c', script],
  cwd: guest('/workspace'),
  env: { TERM: 'xterm' },
  stdin: 'none',
  pty: size,
})

interface Watched {
  seen(): string
  until(text: string): Promise<void>
}

function watch(child: Process): Watched {
  let seen = ''
  child.stdout.on('data', (chunk: Buffer) => (seen += chunk.toString('utf8')))
  return { seen: () => seen, until: (text) => appears(() => seen, text) }
}

async function appears(look: () => string, text: string): Promise<void> {
  const giveUpAt = performance.now() + 20_000
  while (!look().includes(text)) {
    assert.ok(performance.now() < giveUpAt, `${JSON.stringify(text)} did not appear in ${JSON.stringify(look())}`)
    await pause(10)
  }
}

/** Everything from the offset to the end, and whether some of it was drawn instead. */
async function readAll(terminal: Terminal, from?: number): Promise<{ text: string; redraws: number }> {
  let text = ''
  let redraws = 0
  for await (const chunk of terminal.read(from === undefined ? {} : { from })) {
    text += Buffer.from(chunk.bytes).toString('latin1')
    if (chunk.redraws === true) redraws += 1
  }
  return { text, redraws }
}

const drawn = async (terminal: Terminal): Promise<string> => Buffer.from((await terminal.screen()).bytes).toString()

export const terminalCases: readonly ConformanceCase[] = [
  {
    title:
      'with pty the command has a terminal of its own, of that size, which is its controlling one; all that it writes comes by stdout, and it reads what is written to stdin, whatever the request says of that',
    async run(subject) {
      const { boundary } = await subject.boundary()
      const script = [
        'test -t 0 && test -t 1 && test -t 2 && echo three',
        // Only a controlling terminal turns a key into a signal.
        'stty size; trap "echo controlling; n=1" INT',
        'echo wrong >&2; until [ "$n" ]; do sleep 0.05; done',
        'read line; echo "got $line"; exit 3',
      ].join('; ')
      const child = await boundary.spawn(onTerminal(script))
      const errors: Buffer[] = []
      child.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
      const { seen, until } = watch(child)
      await until('wrong')
      child.stdin?.write('\u0003')
      await until('controlling\r\n')
      child.stdin?.write('hello\n')
      assert.deepEqual(await child.exit, { code: 3 })
      await until('got hello\r\n')
      assert.match(seen(), /^three\r\n33 91\r\nwrong\r\n(?:\^C)?controlling\r\nhello\r\ngot hello\r\n$/)
      assert.equal(Buffer.concat(errors).length, 0)
    },
  },
  {
    title: 'resize reaches the program in the foreground as SIGWINCH; after the end it does nothing',
    async run(subject) {
      const { boundary } = await subject.boundary()
      // The word of the first size may still be under way when the program listens, as with gVisor: it is no news then.
      const onWord = 'now=$(stty size); if [ "$now" != "33 91" ]; then echo "$now"; exit 0; fi'
      const child = await boundary.spawn(onTerminal(`trap '${onWord}' WINCH; echo ready; while :; do sleep 0.05; done`))
      const { until } = watch(child)
      await until('ready')
      child.resize?.({ cols: 120, rows: 40 })
      await until('40 120')
      assert.deepEqual(await child.exit, { code: 0 })
      child.resize?.({ cols: 80, rows: 24 })
      assert.throws(() => child.resize?.({ cols: 0, rows: 24 }), { code: 'INVALID_INPUT' })
    },
  },
  {
    title:
      'what is typed, and a size that is given, before the program has begun reach it, in the order of their coming',
    async run({ create }) {
      const sandbox = await create()
      const script =
        'read first; until [ "$(stty size)" = "40 120" ]; do sleep 0.02; done; read second; echo "$first, $second"'
      for (let round = 0; round < 3; round += 1) {
        await using terminal = await sandbox.shells.open({ pty: size, argv: ['/bin/sh', '-c', script] })
        const typed = [terminal.write(`one ${round}\r`), terminal.write(`two ${round}\r`)]
        await terminal.resize({ cols: 120, rows: 40 })
        const { text } = await readAll(terminal)
        assert.match(text, new RegExp(`one ${round}, two ${round}\r\n$`))
        await Promise.all(typed)
      }
    },
  },
  {
    title: 'what is typed as an interrupt reaches the program, which may go on',
    async run(subject) {
      const { boundary } = await subject.boundary()
      const child = await boundary.spawn(
        onTerminal('trap "echo caught; n=1" INT; echo ready; until [ "$n" ]; do sleep 0.05; done; read line; exit 4'),
      )
      const { until } = watch(child)
      await until('ready')
      child.stdin?.write('\u0003')
      await until('caught')
      child.stdin?.write('\n')
      assert.deepEqual(await child.exit, { code: 4 })
    },
  },
  {
    title: 'a command on a terminal is killed with all that it started',
    requires: ['process.tree'],
    async run(subject) {
      const { boundary, workspace } = await subject.boundary()
      const child = await boundary.spawn(onTerminal(`(trap '' HUP; ${heartbeat('beat')}) & wait`))
      watch(child)
      await waitForBeat(join(workspace, 'beat'))
      child.kill()
      child.kill()
      assert.equal((await child.exit).signal, 'SIGKILL')
      await isStill(join(workspace, 'beat'))
    },
  },
  {
    title: 'a kill that comes after the end of its command harms no later one',
    async run(subject) {
      const { boundary } = await subject.boundary()
      const plain = (script: string): SpawnRequest => {
        const { pty: _, ...request } = onTerminal(script)
        return request
      }
      for (const first of [plain('true'), onTerminal('true')]) {
        const early = await boundary.spawn(first)
        early.stdout.resume()
        await early.exit
        await pause(100)
        const later = await boundary.spawn(plain('sleep 0.3; echo unharmed'))
        const { seen } = watch(later)
        early.kill()
        assert.deepEqual(await later.exit, { code: 0 })
        await appears(seen, 'unharmed')
      }
    },
  },
  {
    title: 'a program that reads nothing holds up nobody who writes to it',
    async run(subject) {
      const { boundary } = await subject.boundary()
      const child = await boundary.spawn(onTerminal('stty raw -echo; echo ready; sleep 30'))
      await watch(child).until('ready')
      const begun = performance.now()
      child.stdin?.write(Buffer.alloc(1024 * 1024, 'x'))
      // One that waited for the program would be held up until it ends.
      assert.ok(performance.now() - begun < 15_000)
      child.kill()
      assert.equal((await child.exit).signal, 'SIGKILL')
    },
  },
  {
    title:
      'a reader that comes back gets every byte from its offset on; where those are not kept any more, the screen as it stands, and every byte behind it',
    async run({ create }) {
      const sandbox = await create()
      const terminal = await sandbox.shells.open({
        pty: true,
        argv: ['/bin/sh', '-c', 'seq 1 2000; read go; seq 1 90000'],
      })
      const numbers = (last: number): string => Array.from({ length: last }, (_, index) => `${index + 1}\r\n`).join('')
      let offset = 0
      for await (const chunk of terminal.read()) {
        offset = chunk.offset + chunk.bytes.length
        if (offset >= numbers(2000).length) break
      }
      const again = readAll(terminal, 100)
      await terminal.write('\n')
      assert.deepEqual(await terminal.ended, { ended: { by: 'exit', code: 0 }, exitCode: 0 })
      // The first one was there all the while; the second one comes when the beginning is long gone.
      const { text, redraws } = await again
      if (redraws === 0) assert.equal(text, `${numbers(2000).slice(100)}\r\n${numbers(90_000)}`)
      const late = await readAll(terminal)
      assert.equal(late.redraws, 1)
      assert.match(late.text, /89999\r\n90000/)
      await refused('INVALID_CURSOR', readAll(terminal, 10 ** 9))
    },
  },
  {
    title: 'screen shows what a person at the terminal would see, however much went over it before',
    async run({ create }) {
      const sandbox = await create()
      const script = 'seq 1 90000; printf "\\033[2J\\033[5;7Hhere\\033[20;1H"; read go'
      const terminal = await sandbox.shells.open({ pty: size, argv: ['/bin/sh', '-c', script] })
      await appearsOn(terminal, 'here')
      assert.match(await drawn(terminal), /\u001b\[6Chere/)
      assert.doesNotMatch(await drawn(terminal), /90000\r\n.*90000/s)
      assert.deepEqual((await terminal.screen()).size, size)
      await terminal.resize({ cols: 60, rows: 20 })
      assert.deepEqual((await terminal.screen()).size, { cols: 60, rows: 20 })
      await terminal.close()
    },
  },
  {
    title: 'a terminal is listed and found until it is closed, and what is written to it afterwards is refused',
    async run({ create }) {
      const sandbox = await create()
      const terminal = await sandbox.shells.open({ pty: true })
      assert.deepEqual(
        (await sandbox.shells.list()).map(({ id, kind, status }) => ({ id, kind, status })),
        [{ id: terminal.id, kind: 'terminal', status: 'busy' }],
      )
      assert.equal((await sandbox.shells.get(terminal.id)).id, terminal.id)
      await terminal.close()
      await terminal.close()
      assert.deepEqual(await sandbox.shells.list(), [])
      await refused('NOT_FOUND', sandbox.shells.get(terminal.id))
      await refused('SHELL_CLOSED', terminal.write('x'))
      await refused('INVALID_INPUT', sandbox.shells.open({ pty: { cols: 0, rows: 0 } }))
      await refused('OUTSIDE_MOUNTS', sandbox.shells.open({ pty: true, cwd: '/etc' }))
    },
  },
]

async function appearsOn(terminal: Terminal, text: string): Promise<void> {
  const giveUpAt = performance.now() + 20_000
  for (;;) {
    const screen = await drawn(terminal)
    if (screen.includes(text)) return
    assert.ok(performance.now() < giveUpAt, `${text} did not appear on ${JSON.stringify(screen)}`)
    await pause(50)
  }
}
