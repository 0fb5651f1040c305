import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConformanceCase, Subject } from '../case.ts'
import { afterItsBeginMs, heartbeat, isStill, refused, succeeded, waitForBeat } from '../expect.ts'

async function place(subject: Subject) {
  const plain = await subject.scene('plain')
  const room = await subject.room(plain)
  return { sandbox: plain.sandbox, ...room, beat: join(room.host, 'beat') }
}

const refusesTimeout = (timeoutMs: number): ConformanceCase => ({
  title: `a timeout of ${timeoutMs} ms is refused as bad input, and nothing runs`,
  async run(subject) {
    const { sandbox, guest, host } = await place(subject)
    await refused('INVALID_INPUT', sandbox.commands.run('echo ran > ran', { cwd: guest, timeoutMs }))
    await assert.rejects(access(join(host, 'ran')))
  },
})

export const timeoutCases: readonly ConformanceCase[] = [
  {
    title: 'a command that takes too long ends by timeout, with exit code 124 and the time it had',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const result = await sandbox.commands.run(['sleep', '20'], { timeoutMs: 300 })
      assert.equal(result.ended.by, 'timeout')
      assert.ok(result.ended.by === 'timeout' && result.ended.afterMs >= 290 && result.ended.afterMs < 15_000)
      assert.equal(result.exitCode, 124)
    },
  },
  {
    title: 'exec ends by timeout and kills the whole tree',
    async run(subject) {
      const { sandbox, guest, beat } = await place(subject)
      const result = await sandbox.commands.run(`(${heartbeat('beat')}) & wait`, {
        cwd: guest,
        timeoutMs: afterItsBeginMs,
      })
      assert.equal(result.ended.by, 'timeout')
      await isStill(beat)
    },
  },
  {
    title: 'a process that left its session is killed by the timeout too',
    requires: ['process.tree'],
    async run(subject) {
      const { sandbox, guest, beat } = await place(subject)
      const script = `setsid sh -c '${heartbeat('beat')}' </dev/null >/dev/null 2>&1 & sleep 20`
      const result = await sandbox.commands.run(script, { cwd: guest, timeoutMs: afterItsBeginMs })
      assert.equal(result.ended.by, 'timeout')
      await isStill(beat)
    },
  },
  {
    title: 'a command that ignores SIGTERM still ends by timeout',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const script = "trap '' TERM INT HUP; while :; do sleep 0.05; done"
      assert.equal((await sandbox.commands.run(script, { timeoutMs: 300 })).ended.by, 'timeout')
    },
  },
  {
    title: 'a command that spins without sleeping still ends by timeout',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      assert.equal((await sandbox.commands.run('while :; do :; done', { timeoutMs: 300 })).ended.by, 'timeout')
    },
  },
  {
    title: 'what a command wrote before its timeout is kept',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const result = await sandbox.commands.run('echo out; echo err >&2; sleep 20', { timeoutMs: afterItsBeginMs })
      assert.deepEqual([result.ended.by, result.stdout, result.stderr], ['timeout', 'out\n', 'err\n'])
    },
  },
  {
    title: 'a command that ends in time is not touched by its timeout',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      succeeded(await sandbox.commands.run(['sleep', '0.1'], { timeoutMs: 20_000 }))
    },
  },
  {
    title: "the policy's timeout holds when the caller names none",
    async run({ create }) {
      const sandbox = await create({ request: { timeoutMs: 300 } })
      assert.equal((await sandbox.commands.run(['sleep', '20'])).ended.by, 'timeout')
    },
  },
  {
    title: 'a timeout does no harm to the sandbox: the next command runs',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      await sandbox.commands.run(['sleep', '20'], { timeoutMs: 100 })
      assert.equal(succeeded(await sandbox.commands.run('echo next')), 'next\n')
    },
  },
  refusesTimeout(0),
  refusesTimeout(-5),
  refusesTimeout(Number.NaN),
]

export const cancelCases: readonly ConformanceCase[] = [
  {
    title: 'a cancelled command ends by cancel, with exit code 130',
    async run(subject) {
      const { sandbox, guest, beat } = await place(subject)
      const controller = new AbortController()
      const running = sandbox.commands.run(heartbeat('beat'), { cwd: guest, signal: controller.signal })
      await waitForBeat(beat)
      controller.abort()
      const result = await running
      assert.equal(result.ended.by, 'cancel')
      assert.equal(result.exitCode, 130)
    },
  },
  {
    title: 'exec ends by cancel and kills the whole tree',
    async run(subject) {
      const { sandbox, guest, beat } = await place(subject)
      const controller = new AbortController()
      const running = sandbox.commands.run(`(${heartbeat('beat')}) & wait`, { cwd: guest, signal: controller.signal })
      await waitForBeat(beat)
      controller.abort()
      await running
      await isStill(beat)
    },
  },
  {
    title: 'a call that is cancelled before it begins runs nothing',
    async run(subject) {
      const { sandbox, guest, host } = await place(subject)
      const running = sandbox.commands.run('echo ran > ran', { cwd: guest, signal: AbortSignal.abort() })
      const outcome = await running.then(
        (result) => result.ended.by,
        (error: { code?: string }) => error.code,
      )
      assert.ok(outcome === 'cancel' || outcome === 'CANCELLED', outcome)
      await assert.rejects(access(join(host, 'ran')))
    },
  },
  {
    title: 'cancelling one command leaves another alone',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const controller = new AbortController()
      const other = sandbox.commands.run('sleep 0.4; echo done')
      const doomed = sandbox.commands.run('echo begun; sleep 20', {
        signal: controller.signal,
        onStdout: () => controller.abort(),
      })
      assert.equal((await doomed).ended.by, 'cancel')
      assert.equal(succeeded(await other), 'done\n')
    },
  },
  {
    title: 'a cancellation after the end changes nothing',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const controller = new AbortController()
      const result = await sandbox.commands.run('echo whole', { signal: controller.signal })
      controller.abort()
      assert.equal(succeeded(result), 'whole\n')
    },
  },
  {
    title: 'what a command wrote before it was cancelled is kept',
    async run({ scene }) {
      const { sandbox } = await scene('plain')
      const controller = new AbortController()
      const result = await sandbox.commands.run('echo partial; sleep 20', {
        signal: controller.signal,
        onStdout: () => controller.abort(),
      })
      assert.deepEqual([result.ended.by, result.stdout], ['cancel', 'partial\n'])
    },
  },
  {
    title: 'a fault in a listener ends the command and reaches the caller',
    async run(subject) {
      const { sandbox, guest, beat } = await place(subject)
      const running = sandbox.commands.run(`echo x; ${heartbeat('beat')}`, {
        cwd: guest,
        async onStdout() {
          await waitForBeat(beat)
          throw new RangeError('the listener is broken')
        },
      })
      await assert.rejects(running, RangeError)
      await isStill(beat)
    },
  },
]
