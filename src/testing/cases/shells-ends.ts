import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { ConformanceCase } from '../case.ts'
import { afterItsBeginMs, beatsOn, heartbeat, isStill, refused, waitForBeat } from '../expect.ts'
import { exit, told, withShell } from './shells-open.ts'

export const shellEndCases: readonly ConformanceCase[] = [
  {
    title: "a timeout ends the command's tree and keeps the shell, with what it had",
    async run(subject) {
      await withShell(subject, async ({ shell, says, beat, guest }) => {
        await says('mkdir -p here && cd here; x=5')
        const result = await shell.exec(`(${heartbeat('../beat')}) & echo begun; sleep 30; echo not here`, {
          timeoutMs: afterItsBeginMs,
        })
        assert.equal(result.ended.by, 'timeout')
        assert.deepEqual([result.exitCode, result.stdout, result.state], [124, 'begun\n', 'rebuilt'])
        await isStill(beat)
        assert.equal(await says('echo $x; pwd'), `5\n${guest}/here\n`)
      })
    },
  },
  {
    title: 'a timeout in a shell leaves alone what earlier commands started',
    async run(subject) {
      await withShell(subject, async ({ shell, says, beat }) => {
        await says(`(${heartbeat('beat')}) </dev/null >/dev/null 2>&1 & job=$!`)
        await waitForBeat(beat)
        assert.equal((await shell.exec('sleep 30', { timeoutMs: 300 })).ended.by, 'timeout')
        assert.equal(await says('kill -0 $job && echo alive'), 'alive\n')
        await beatsOn(beat)
        await says('kill $job')
      })
    },
  },
  {
    title: 'a timeout ends a loop of the shell itself, a reader that waits, and what ignores signals',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        await says('x=5; mkfifo pipe')
        const texts = [
          'while :; do :; done',
          'read line <pipe',
          "trap '' TERM INT HUP; while :; do sleep 0.02; done",
          'wait',
        ]
        await says('sleep 60 </dev/null >/dev/null 2>&1 &')
        for (const text of texts) {
          const result = await shell.exec(text, { timeoutMs: 250 })
          // A shell that has nothing to wait for ends by itself.
          if (text !== 'wait') assert.equal(result.ended.by, 'timeout', text)
        }
        assert.equal(await says('echo on'), 'on\n')
      })
    },
  },
  {
    title:
      'a command that reads all that its shell has open is ended by its timeout at the latest, and the shell has what it had',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        await says('x=5')
        const reading = 'cat /proc/$$/fd/* >/dev/null 2>&1'
        const stuck = await shell.exec(reading, { timeoutMs: afterItsBeginMs })
        assert.deepEqual([stuck.ended.by, stuck.state], ['timeout', 'rebuilt'])
        assert.equal(await says('echo $x'), '5\n')
        // It comes to its own end, and only the shell's word of it has been taken.
        const thieves = [
          'for each in /proc/$$/fd/*; do',
          // Its own words are for the host.
          '  [ "$each" -ef /proc/$$/fd/1 ] || [ "$each" -ef /proc/$$/fd/2 ] || { cat "$each" >/dev/null 2>&1 & all="$all $!"; }',
          'done; sleep 0.4; kill -9 $all; wait $all',
        ].join('\n')
        const robbed = await shell.exec(`${thieves}; echo over; (exit 3)`, { timeoutMs: 5000 })
        assert.deepEqual([robbed.stdout, robbed.state === 'lost'], ['over\n', false])
        assert.equal(await says('echo $x'), '5\n')
      })
    },
  },
  {
    title: 'a process that left its session is ended by the timeout of its command',
    requires: ['process.tree'],
    async run(subject) {
      await withShell(subject, async ({ shell, beat }) => {
        const script = `setsid sh -c '${heartbeat('beat')}' </dev/null >/dev/null 2>&1 & sleep 20`
        assert.equal((await shell.exec(script, { timeoutMs: afterItsBeginMs })).ended.by, 'timeout')
        await isStill(beat)
      })
    },
  },
  {
    title: 'a cancelled command is ended with its tree, and the shell is kept',
    async run(subject) {
      await withShell(subject, async ({ shell, says, beat }) => {
        await says('x=5')
        const stop = new AbortController()
        const running = shell.exec(heartbeat('beat'), { signal: stop.signal })
        await waitForBeat(beat)
        stop.abort()
        const result = await running
        assert.deepEqual([result.ended.by, result.exitCode, result.state], ['cancel', 130, 'rebuilt'])
        await isStill(beat)
        assert.equal(await says('echo $x'), '5\n')
      })
    },
  },
  {
    title: 'a reader of the output that fails ends its command, and its own fault is told',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        const fault = new Error('the reader gave up')
        const failing = shell.exec('while :; do echo x; done', { onStdout: () => Promise.reject(fault) })
        await assert.rejects(failing, fault)
        assert.equal(await says('echo on'), 'on\n')
      })
    },
  },
  {
    title: 'commands given to one shell at the same time run one after another, in the order of their calls',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        await says('n=0')
        const results = await Promise.all(
          Array.from({ length: 40 }, (_, at) => shell.exec(`echo $n ${at}; sleep 0.00$((n % 3)); n=$((n + 1))`)),
        )
        assert.deepEqual(
          results.map(({ stdout }) => stdout),
          results.map((_, at) => `${at} ${at}\n`),
        )
        assert.deepEqual(
          results.map(({ number }) => number),
          results.map((_, at) => at + 2),
        )
      })
    },
  },
  {
    title: 'a command that is cancelled while it waits is refused and never runs',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        const stop = new AbortController()
        const first = shell.exec('sleep 0.3')
        const second = shell.exec('touch ran', { signal: stop.signal })
        stop.abort()
        await refused('CANCELLED', second)
        await first
        await refused('CANCELLED', shell.exec('touch ran', { signal: AbortSignal.abort() }))
        assert.equal(await says('test -e ran; echo $?'), '1\n')
      })
    },
  },
  {
    title:
      'wait answers when the command has ended or when its time is over, whichever comes first, and disturbs nothing',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        const { number } = await shell.start('echo begun; while [ ! -e go ]; do sleep 0.02; done; echo ended')
        const queued = await shell.start('touch after')
        const look = () => shell.wait({ number, waitMs: 300 })
        let waited = await look()
        // A busy machine may not have begun it by then.
        for (let looks = 0; looks < 60 && !waited.done && waited.progress.stdout === ''; looks += 1)
          waited = await look()
        assert.ok(!waited.done && waited.progress.started && waited.progress.stdout === 'begun\n')
        const behind = await shell.wait({ waitMs: 0 })
        assert.ok(!behind.done && !behind.progress.started && behind.progress.number === queued.number)
        const info = await shell.inspect()
        assert.deepEqual([info.status, info.current?.number, info.queued], ['busy', number, 1])
        await using beside = await (await subject.scene('plain')).sandbox.shells.open({ cwd: info.cwd })
        await beside.exec('touch go')
        const done = await shell.wait({ number, waitMs: 20_000 })
        assert.ok(done.done && done.result.stdout === 'begun\nended\n')
        assert.equal(await says('test -e after; echo $?'), '0\n')
        await refused('NOT_FOUND', shell.wait({ number: 99, waitMs: 0 }))
      })
    },
  },
  {
    title: 'close ends the shell and everything that was started in it, and is idempotent; what still waits is refused',
    async run(subject) {
      await withShell(subject, async ({ sandbox, shell, beat }) => {
        const running = shell.exec(`(${heartbeat('beat')}) & wait`)
        const waiting = shell.exec('echo never')
        await waitForBeat(beat)
        const refusal = refused('SHELL_CLOSED', waiting)
        await Promise.all([shell.close(), shell.close()])
        assert.deepEqual([(await running).ended.by, (await running).state], ['cancel', 'lost'])
        await refusal
        await isStill(beat)
        await refused('SHELL_CLOSED', shell.exec('echo never'))
        await refused('NOT_FOUND', sandbox.shells.get(shell.id))
        assert.ok(!(await sandbox.shells.list()).some(({ id }) => id === shell.id))
        assert.equal((await shell.inspect()).status, 'closed')
      })
    },
  },
  {
    title: 'a shell that was killed while nothing ran in it begins anew, and says so',
    async run(subject) {
      await withShell(subject, async ({ shell, says, beat }) => {
        await says('x=5; (sleep 0.2; echo x >beat; kill -9 $$) </dev/null >/dev/null 2>&1 &')
        await waitForBeat(beat)
        // Nothing but time tells that it has come to pass: asking would be using it.
        await pause(1500)
        const result = await shell.exec('echo "[$x]"')
        assert.deepEqual(told(result), { ended: exit(0), stdout: '[]\n', stderr: '', state: 'kept' })
        assert.match(result.note ?? '', /had ended since the last command/)
      })
    },
  },
  {
    title: 'several shells of a sandbox know nothing of each other, and list names each in the order of opening',
    async run(subject) {
      const sandbox = await subject.create()
      const shells = await Promise.all(Array.from({ length: 4 }, () => sandbox.shells.open()))
      await Promise.all(shells.map((shell, at) => shell.exec(`x=${at}; cd /tmp; echo $x >own`)))
      const said = await Promise.all(shells.map(async (shell) => (await shell.exec('echo $x')).stdout))
      assert.deepEqual(said, ['0\n', '1\n', '2\n', '3\n'])
      assert.deepEqual(
        (await sandbox.shells.list()).map(({ id }) => id).toSorted(),
        shells.map(({ id }) => id).toSorted(),
      )
      await sandbox.kill()
      await refused('SANDBOX_GONE', sandbox.shells.open())
      for (const shell of shells) await refused(['SANDBOX_GONE', 'SHELL_CLOSED'], shell.exec('echo never'))
    },
  },
  {
    title: 'killing the sandbox ends its shells with everything in them',
    async run(subject) {
      const place = await subject.directory()
      const sandbox = await subject.create({ mounts: [{ guestPath: '/workspace', hostPath: place }] })
      const shell = await sandbox.shells.open()
      const running = shell.exec(heartbeat('beat'))
      await waitForBeat(`${place}/beat`)
      await sandbox.kill()
      assert.notEqual((await running).ended.by, 'exit')
      await isStill(`${place}/beat`)
    },
  },
  {
    title:
      'provision tells that shells have lost their state, and their next command begins in the new boundary and says so',
    async run(subject) {
      const sandbox = await subject.create()
      const shell = await sandbox.shells.open()
      await shell.exec('x=5')
      const busy = shell.exec('while [ ! -e go ]; do sleep 0.02; done')
      const added = { mounts: { add: [{ guestPath: '/added', hostPath: await subject.directory() }] } }
      await refused('BUSY', sandbox.provision(added))
      await sandbox.files.write('go', '')
      await busy
      assert.match((await sandbox.provision(added)).lost.join(), /1 shell/)
      const result = await shell.exec('echo "[$x]"; cd /added && echo there')
      assert.deepEqual([result.stdout, result.state], ['[]\nthere\n', 'kept'])
      assert.match(result.note ?? '', /had ended since the last command/)
    },
  },
]
