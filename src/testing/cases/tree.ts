import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { ConformanceCase } from '../case.ts'
import { failed, heartbeat, isStill, succeeded } from '../expect.ts'

const outlives = (title: string, launch: (loop: string) => string): ConformanceCase => ({
  title,
  requires: ['process.tree'],
  async run({ scene, room }) {
    const plain = await scene('plain')
    const { guest, host } = await room(plain)
    const wait = 'while [ ! -s beat ]; do sleep 0.01; done; echo ready'
    const result = await plain.sandbox.commands.run(`${launch(heartbeat('beat'))}; ${wait}`, { cwd: guest })
    assert.equal(succeeded(result), 'ready\n')
    await isStill(join(host, 'beat'))
  },
})

export const treeCases: readonly ConformanceCase[] = [
  outlives('a background job does not outlive its command', (loop) => `(${loop}) & true`),
  outlives(
    'a process under nohup does not outlive its command',
    (loop) => `nohup sh -c '${loop}' >/dev/null 2>&1 & true`,
  ),
  outlives(
    'a process in a session of its own does not outlive its command',
    (loop) => `setsid sh -c '${loop}' >/dev/null 2>&1 & true`,
  ),
  outlives(
    'a daemon that forked twice does not outlive its command',
    (loop) => `(setsid sh -c '(${loop}) >/dev/null 2>&1 </dev/null &' &) ; true`,
  ),
  {
    title: 'the guest sees only processes of its own',
    requires: ['process.isolated'],
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const text = succeeded(await sandbox.commands.run("ls /proc | grep -c '^[0-9]'"))
      assert.ok(Number(text) < 10, `${text.trim()} processes are visible`)
    },
  },
  {
    title: 'the guest cannot signal a process of the host',
    requires: ['process.isolated'],
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      failed(await sandbox.commands.run(`kill -0 ${process.pid} 2>/dev/null`))
      assert.doesNotThrow(() => process.kill(process.pid, 0))
    },
  },
  {
    title: 'one command cannot see the processes of another',
    requires: ['process.isolated'],
    async run({ scene, room }) {
      const plain = await scene('plain')
      const { guest } = await room(plain)
      const controller = new AbortController()
      const other = plain.sandbox.commands.run('exec sleep 19.75', { cwd: guest, signal: controller.signal })
      const seen = await plain.sandbox.commands.run("sleep 0.2; cat /proc/[0-9]*/cmdline | tr '\\0' ' '", {
        cwd: guest,
      })
      controller.abort()
      await other
      assert.ok(!seen.stdout.includes('sleep 19.75'), seen.stdout)
    },
  },
]
