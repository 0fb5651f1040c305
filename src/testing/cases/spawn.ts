import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { SpawnRequest } from '../../contract/backend.ts'
import type { ConformanceCase, OpenBoundary } from '../case.ts'
import { collect, heartbeat, isStill, waitForBeat } from '../expect.ts'
import { guest } from '../spec.ts'

type Argv = SpawnRequest['argv']

const request = (argv: Argv, more: Partial<SpawnRequest> = {}): SpawnRequest => ({
  argv,
  cwd: guest('/workspace'),
  env: {},
  stdin: 'none',
  ...more,
})

const sh = (script: string): SpawnRequest => request(['/bin/sh', '-c', script])

async function printed({ boundary }: OpenBoundary, argv: Argv): Promise<string> {
  const { stdout, exit } = await collect(await boundary.spawn(request(argv)))
  assert.equal(exit.code, 0, JSON.stringify(exit))
  return stdout.toString()
}

export const spawnCases: readonly ConformanceCase[] = [
  {
    title: 'argv is passed as it is; no shell sees it unless it names one',
    async run(subject) {
      const words = ['$HOME', '`id`', '*', 'a b', '; exit 9', '"', "'", '\\', '&&', '>out'] as const
      const text = await printed(await subject.boundary(), ['printf', '%s|', ...words])
      assert.equal(text, words.map((word) => `${word}|`).join(''))
    },
  },
  {
    title: 'an empty argument is still an argument',
    async run(subject) {
      assert.equal(await printed(await subject.boundary(), ['printf', '[%s]', '', 'x', '']), '[][x][]')
    },
  },
  {
    title: 'an argument with newlines and characters beyond ASCII arrives unchanged',
    async run(subject) {
      const word = 'line one\nline two\tß€😀'
      assert.equal(await printed(await subject.boundary(), ['printf', '%s', word]), word)
    },
  },
  {
    title: 'an argument that begins with a dash is not taken for an option of the mechanism',
    async run(subject) {
      assert.equal(await printed(await subject.boundary(), ['printf', '%s', '--ro-bind']), '--ro-bind')
    },
  },
  {
    title: 'an argument of 100,000 bytes arrives whole',
    async run(subject) {
      const word = 'x'.repeat(100_000)
      assert.equal((await printed(await subject.boundary(), ['printf', '%s', word])).length, word.length)
    },
  },
  {
    title: 'a thousand arguments arrive in order',
    async run(subject) {
      const words = Array.from({ length: 1000 }, (_, index) => `${index}`)
      const text = await printed(await subject.boundary(), ['printf', '%s ', ...words])
      assert.equal(text, words.map((word) => `${word} `).join(''))
    },
  },
  {
    title: 'a request without stdin has none, and the command reads end of file',
    async run(subject) {
      const { boundary } = await subject.boundary()
      const child = await boundary.spawn(sh('cat; echo end'))
      assert.equal(child.stdin, null)
      assert.equal((await collect(child)).stdout.toString(), 'end\n')
    },
  },
  {
    title: 'a piped stdin carries bytes to the command, and its end',
    async run(subject) {
      const { boundary } = await subject.boundary()
      const child = await boundary.spawn(request(['cat'], { stdin: 'pipe' }))
      assert.ok(child.stdin)
      child.stdin.write('first ')
      child.stdin.end('second')
      assert.equal((await collect(child)).stdout.toString(), 'first second')
    },
  },
  {
    title: "a request's environment is laid over the sandbox's",
    async run(subject) {
      const { boundary } = await subject.boundary({ env: { KEPT: 'sandbox', CHANGED: 'sandbox' } })
      const child = await boundary.spawn(
        request(['/bin/sh', '-c', 'echo $KEPT $CHANGED'], { env: { CHANGED: 'request' } }),
      )
      assert.equal((await collect(child)).stdout.toString(), 'sandbox request\n')
    },
  },
  {
    title: 'exit says exactly one of code, signal, lost and setupFailed',
    async run(subject) {
      const { boundary } = await subject.boundary()
      for (const script of ['exit 0', 'exit 3', 'kill -9 $$', 'kill -TERM $$']) {
        const { exit } = await collect(await boundary.spawn(sh(script)))
        const told = [exit.code, exit.signal, exit.lost, exit.setupFailed].filter((part) => part !== undefined)
        assert.equal(told.length, 1, `${script}: ${JSON.stringify(exit)}`)
      }
    },
  },
  {
    title: 'exit settles when the command has ended and nothing that it started is alive. Never rejects',
    requires: ['process.tree'],
    async run(subject) {
      const { boundary, workspace } = await subject.boundary()
      const script = `(${heartbeat('beat')}) & while [ ! -s beat ]; do sleep 0.01; done; exit 4`
      const { exit } = await collect(await boundary.spawn(sh(script)))
      assert.equal(exit.code, 4)
      await isStill(join(workspace, 'beat'))
    },
  },
  {
    title: 'exit settles although something in the background holds the output open',
    requires: ['process.tree'],
    async run(subject) {
      const { boundary } = await subject.boundary()
      const child = await boundary.spawn(sh('sleep 30 & echo started'))
      const ended = await Promise.race([collect(child), pause(20_000, undefined)])
      child.kill()
      assert.ok(ended, 'the exit was not told before what is in the background ended')
      assert.equal(ended.stdout.toString(), 'started\n')
    },
  },
  {
    title: 'kill ends the whole tree, and may be called at any time and twice',
    async run(subject) {
      const { boundary, workspace } = await subject.boundary()
      const child = await boundary.spawn(sh(`(${heartbeat('beat')}) & wait`))
      const ended = collect(child)
      await waitForBeat(join(workspace, 'beat'))
      child.kill()
      child.kill()
      const { exit } = await ended
      assert.notEqual(exit.code, 0)
      await isStill(join(workspace, 'beat'))
      child.kill()
    },
  },
  {
    title: 'kill right after spawn leaves nothing running',
    async run(subject) {
      const { boundary, workspace } = await subject.boundary()
      const child = await boundary.spawn(sh('sleep 1; echo late > late.txt'))
      child.kill()
      await collect(child)
      await pause(1500)
      const names = (await boundary.files.list(guest('/workspace'), { limit: 100 })).entries.map((entry) => entry.name)
      assert.ok(!names.includes('late.txt'), `${workspace} was written to after kill`)
    },
  },
  {
    title: 'killing one process leaves another of the same boundary alone',
    async run(subject) {
      const { boundary } = await subject.boundary()
      const doomed = await boundary.spawn(sh('sleep 30'))
      const other = collect(await boundary.spawn(sh('sleep 0.3; echo done')))
      doomed.kill()
      await collect(doomed)
      assert.equal((await other).stdout.toString(), 'done\n')
    },
  },
]
