import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { ConformanceCase } from '../case.ts'
import { failed, succeeded } from '../expect.ts'

// Doubles a variable until memory ends: needs nothing but the shell.
const memoryBomb = 'x=xxxxxxxxxxxxxxxx; while :; do x="$x$x"; done'

/** Listens on the host's loopback and gives the guest's try to connect, with the number of connections seen. */
async function whileListening<T>(work: (port: number) => Promise<T>): Promise<{ result: T; connections: number }> {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.on('error', () => {})
    socket.end('hello\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  try {
    return { result: await work(address.port), connections }
  } finally {
    server.close()
  }
}

const connect = (port: number) => ['/bin/bash', '-c', `exec 3<>/dev/tcp/127.0.0.1/${port} && head -1 <&3`] as const

export const limitCases: readonly ConformanceCase[] = [
  {
    title: 'a command that takes more memory than it may ends by oom, and the sandbox lives on',
    requires: ['memory'],
    async run({ create }) {
      const sandbox = await create({ settings: { memoryMb: 64 } })
      const result = await sandbox.commands.run(memoryBomb, { timeoutMs: 20_000 })
      assert.equal(result.ended.by, 'oom', JSON.stringify(result.ended))
      assert.equal(result.exitCode, 137)
      assert.equal(succeeded(await sandbox.commands.run('echo alive')), 'alive\n')
    },
  },
  {
    title: 'a command gets no more processor time than it may',
    requires: ['cpu'],
    async run({ create }) {
      const sandbox = await create({ settings: { cpuCores: 0.2 } })
      const script = "sh -c 'while :; do :; done' & sleep 1; cut -d' ' -f14,15 /proc/$!/stat"
      const result = await sandbox.commands.run(script)
      const ticks = succeeded(result).trim().split(' ').map(Number)
      // A hundred ticks are a second of a whole core; the first period may be used up at once. Where the guest's kernel is a
      // program that is itself held back, it does not see all of that, and the guest's second takes longer.
      const used = ticks.reduce((sum, each) => sum + each, 0)
      assert.ok(used > 0 && used < (result.durationMs / 10) * 0.75, `${used} ticks in ${result.durationMs} ms`)
    },
  },
  {
    title: 'a command cannot start more processes than it may',
    requires: ['pids'],
    async run({ create }) {
      const sandbox = await create({ settings: { pids: 20 } })
      const script = 'i=0; while [ $i -lt 60 ]; do sleep 2 & i=$((i+1)); done; ls /proc | grep -c "^[0-9]"; exit 0'
      const result = await sandbox.commands.run(script, { timeoutMs: 4000 })
      assert.ok(
        /[Ff]ork|[Rr]esource/.test(result.stderr),
        `nothing was refused: ${JSON.stringify(result.ended)} ${result.stdout}`,
      )
      assert.equal(succeeded(await sandbox.commands.run('echo alive')), 'alive\n')
    },
  },
  {
    title: 'a command cannot write a file larger than it may',
    requires: ['fileSize'],
    async run({ create }) {
      const sandbox = await create({ settings: { fileSizeMb: 1 } })
      const result = await sandbox.commands.run('head -c 3000000 /dev/zero > big; wc -c < big')
      assert.equal(result.stdout.trim(), `${1024 * 1024}`)
    },
  },
  {
    title: '/tmp cannot be filled beyond its size',
    requires: ['tmpSize'],
    async run({ create }) {
      const sandbox = await create({ settings: { tmpMb: 4 } })
      failed(await sandbox.commands.run(['dd', 'if=/dev/zero', 'of=/tmp/fill', 'bs=1M', 'count=12']))
      const size = succeeded(await sandbox.commands.run("df -k /tmp | tail -1 | awk '{print $2}'"))
      assert.equal(size.trim(), '4096')
    },
  },
  {
    title: '/dev/shm cannot be filled beyond its size',
    requires: ['tmpSize'],
    async run({ create }) {
      const sandbox = await create({ settings: { shmMb: 4 } })
      failed(await sandbox.commands.run(['dd', 'if=/dev/zero', 'of=/dev/shm/fill', 'bs=1M', 'count=12']))
    },
  },
  {
    title: 'with network mode none a command reaches no port of the host',
    requires: ['network.none'],
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const { result, connections } = await whileListening((port) => sandbox.commands.run(connect(port)))
      failed(result)
      assert.equal(connections, 0)
    },
  },
  {
    title: 'with network mode none a command has its own loopback and no other interface',
    requires: ['network.none'],
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const text = succeeded(await sandbox.commands.run("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"))
      assert.deepEqual(text.trim().split('\n'), ['lo'])
    },
  },
  {
    title: "with network mode full, allowed by the operator, a command reaches the host's ports",
    requires: ['network.full'],
    async run({ create }) {
      const network = { mode: 'full' as const }
      const sandbox = await create({ settings: { network, ceilings: { network } } })
      assert.equal(sandbox.describe().networkMode, 'full')
      const { result, connections } = await whileListening((port) => sandbox.commands.run(connect(port)))
      assert.equal(succeeded(result), 'hello\n')
      assert.equal(connections, 1)
    },
  },
  {
    title: 'system calls are filtered: a new user namespace is refused',
    requires: ['syscalls.filtered'],
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      assert.match(succeeded(await sandbox.commands.run('grep ^Seccomp: /proc/self/status')), /\b2\b/)
      failed(await sandbox.commands.run('unshare -U true'))
    },
  },
  {
    title: 'the guest is not root and can gain no privileges',
    requires: ['filesystem.isolated', 'process.isolated'],
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      assert.notEqual(succeeded(await sandbox.commands.run(['id', '-u'])).trim(), '0')
      const status = succeeded(
        await sandbox.commands.run("grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs)' /proc/self/status"),
      )
      assert.deepEqual(status.match(/Cap\w+:\s*0*(?=\n)/g)?.length, 3, status)
      // Not every kernel tells it there.
      const told = status.includes('NoNewPrivs') ? status : succeeded(await sandbox.commands.run(['setpriv', '--dump']))
      assert.match(told, /(?:NoNewPrivs|no_new_privs):\s*1/)
    },
  },
  {
    title: 'a command inherits no descriptor that leads anywhere beyond its three streams',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const text = succeeded(await sandbox.commands.run(['ls', '-l', '/proc/self/fd']))
      const open = [...text.matchAll(/ (\d+) -> (.+)$/gm)].map(([, number, target]) => ({
        number: Number(number),
        target,
      }))
      assert.ok(open.length >= 4, text)
      // ls has the listed directory open itself. What the host process was started with may be covered, never passed on.
      const harmless = (target: string | undefined): boolean =>
        target === '/dev/null' || /^\/proc\/\d+\/fd$/.test(target ?? '')
      const beyond = open.filter(({ number, target }) => number > 2 && !harmless(target))
      assert.deepEqual(beyond, [])
    },
  },
]
