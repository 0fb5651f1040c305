import assert from 'node:assert/strict'
import type { ConformanceCase } from '../case.ts'
import { hidesTheHost } from '../expect.ts'
import { exit, told, withShell } from './shells-open.ts'

export const shellStateCases: readonly ConformanceCase[] = [
  {
    title: 'a shell begins in its directory, with the environment of the sandbox and its own',
    async run(subject) {
      const { sandbox } = await subject.scene('plain')
      await using shell = await sandbox.shells.open({ cwd: '/tmp', env: { OWN: 'it is "mine"' } })
      const { stdout } = await shell.exec('pwd; echo "$OWN"; echo "${HOME:+home}"; env | grep -c "^OWN="')
      assert.equal(stdout, '/tmp\nit is "mine"\nhome\n1\n')
    },
  },
  {
    title: 'a path of the guest means the same in a shell as in a command',
    async run(subject) {
      await withShell(subject, async ({ sandbox, guest, says }) => {
        await says(`cd /tmp; echo "from the shell" >${guest}/absolute; cat <<END >>'${guest}/absolute'\n${guest}\nEND`)
        assert.equal(
          await sandbox.commands.run(`cat ${guest}/absolute`).then(({ stdout }) => stdout),
          `from the shell\n${guest}\n`,
        )
        assert.equal(await says(`ls -d ${guest}/abs*; cd ${guest}; pwd`), `${guest}/absolute\n${guest}\n`)
      })
    },
  },
  {
    title: 'directory, variables, functions, aliases, options, traps and mask carry from command to command',
    async run(subject) {
      await withShell(subject, async ({ shell, guest, says }) => {
        await says('mkdir -p below && cd below && umask 027')
        await says("x='a  b'; export Y=$'c'; greet() { echo \"hello $1\"; }; set -f; trap 'echo got it' USR1")
        await says('shopt -s expand_aliases 2>/dev/null; alias short="echo aliased"')
        assert.equal(
          await says('pwd; umask; echo "$x"; sh -c "echo $Y"; greet you; echo *; short'),
          [`${guest}/below`, '0027', 'a  b', (await says('echo "$Y"')).trim(), 'hello you', '*', 'aliased', ''].join(
            '\n',
          ),
        )
        assert.match((await shell.exec('kill -USR1 $$; :')).stdout, /^got it$/m)
      })
    },
  },
  {
    title: 'a background job goes on between commands, and can be waited for in a later one',
    async run(subject) {
      await withShell(subject, async ({ says }) => {
        await says('(while [ ! -e go ]; do sleep 0.02; done; exit 7) & job=$!')
        assert.equal(await says('kill -0 $job && echo alive'), 'alive\n')
        assert.equal(await says('touch go; wait $job; echo $?'), '7\n')
      })
    },
  },
  {
    title: 'what a background job writes between two commands comes with the second one',
    async run(subject) {
      await withShell(subject, async ({ says }) => {
        await says('(while [ ! -e go ]; do sleep 0.02; done; echo late; touch done) &')
        await says('touch go; while [ ! -e done ]; do sleep 0.02; done')
        assert.match(await says('echo second'), /second\n$/)
      })
    },
  },
  {
    title: 'the exit code of a command is $? in the next one',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        assert.deepEqual((await shell.exec('(exit 42)')).ended, exit(42))
        assert.equal(await says('echo $?'), '42\n')
        assert.equal(await says('echo $?'), '0\n')
      })
    },
  },
  {
    title: 'an open file stays open from command to command',
    async run(subject) {
      await withShell(subject, async ({ says }) => {
        await says('exec 4>kept; echo one >&4')
        assert.equal(await says('echo two >&4; exec 4>&-; cat kept'), 'one\ntwo\n')
      })
    },
  },
  {
    title: 'tracing goes to the stderr of each command, and shows nothing of the shell itself',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        await says('set -x')
        const { stdout, stderr } = await shell.exec('echo traced')
        assert.equal(stdout, 'traced\n')
        assert.match(stderr, /^\++ echo traced\n$/)
        await shell.exec('set +x')
        assert.equal((await shell.exec('echo quiet')).stderr, '')
      })
    },
  },
  {
    title: 'exit ends the command with its code, and the shell goes on with what it had',
    async run(subject) {
      await withShell(subject, async ({ shell, guest, says }) => {
        await says(
          'mkdir -p here && cd here && umask 027; x="a  b"; greet() { echo hello; }; trap "echo got it" USR1; set -f',
        )
        const left = await shell.exec('echo before; exit 9; echo after')
        assert.deepEqual(told(left), { ended: exit(9), stdout: 'before\n', stderr: '', state: 'rebuilt' })
        hidesTheHost(left.note)
        assert.equal(await says('echo "$?"; pwd; umask; echo "$x"; echo *'), `9\n${guest}/here\n0027\na  b\n*\n`)
        const hasBash = (await says('echo "${BASH_VERSION:+bash}"')) === 'bash\n'
        const greeted = await shell.exec('greet; kill -USR1 $$')
        if (hasBash) assert.equal(greeted.stdout, 'hello\ngot it\n')
        else assert.match(left.note ?? '', /functions and traps are gone/)
      })
    },
  },
  {
    title: 'set -e ends a command at its first failure, and the shell goes on with set -e',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        assert.deepEqual(told(await shell.exec('x=5; set -e; false; echo not here')).ended, exit(1))
        assert.deepEqual(told(await shell.exec('echo $x; (exit 3); echo not here')), {
          ended: exit(3),
          stdout: '5\n',
          stderr: '',
          state: 'rebuilt',
        })
        assert.equal(await says('false || echo caught; set +e; false; echo on'), 'caught\non\n')
      })
    },
  },
  {
    title: 'a variable that is not set ends the command under set -u, and not the shell',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        const result = await shell.exec('set -u; echo "$nowhere"')
        assert.ok(result.exitCode !== 0 && /nowhere/.test(result.stderr))
        assert.equal(await says('set +u; echo "[$nowhere]"'), '[]\n')
      })
    },
  },
  {
    title: 'break and continue outside of a loop do not disturb the shell',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        await says('x=5')
        for (const word of ['break', 'continue', 'break 9', 'continue 9', 'return 3']) await shell.exec(word)
        assert.equal(await says('echo $x'), '5\n')
      })
    },
  },
  {
    title: 'kill $$ and kill -9 $$ are told as signals, and the next command runs',
    async run(subject) {
      await withShell(subject, async ({ shell, says, guest }) => {
        assert.deepEqual((await shell.exec('kill $$; sleep 20')).ended, { by: 'signal', signal: 'SIGTERM' })
        assert.equal(await says('echo on'), 'on\n')
        const killed = await shell.exec('x=5; cd /; echo before; kill -9 $$; echo after')
        assert.deepEqual(told(killed), {
          ended: { by: 'signal', signal: 'SIGKILL' },
          stdout: 'before\n',
          stderr: '',
          state: 'lost',
        })
        assert.equal(await says('echo "[$x]"; pwd'), `[]\n${guest}\n`)
      })
    },
  },
  {
    title: 'exec replaces the shell by a program, whose end is told, and the next command gets a new shell',
    async run(subject) {
      await withShell(subject, async ({ shell, says, guest }) => {
        const replaced = await shell.exec('cd /; exec sh -c "echo replaced; exit 6"')
        assert.deepEqual(told(replaced), { ended: exit(6), stdout: 'replaced\n', stderr: '', state: 'lost' })
        assert.match(replaced.note ?? '', /new one/)
        assert.equal(await says('pwd'), `${guest}\n`)
      })
    },
  },
]
