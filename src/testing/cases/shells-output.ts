import assert from 'node:assert/strict'
import type { ConformanceCase } from '../case.ts'
import { exit, told, withShell } from './shells-open.ts'

const megabytes = 1_000_000

export const shellOutputCases: readonly ConformanceCase[] = [
  {
    title: 'stdout and stderr of a command in a shell are told apart, and are its own',
    async run(subject) {
      await withShell(subject, async ({ shell }) => {
        for (const word of ['one', 'two', 'three']) {
          const result = await shell.exec(`echo ${word}; echo ${word}-err >&2; exit_code=3; (exit $exit_code)`)
          assert.deepEqual(told(result), {
            ended: exit(3),
            stdout: `${word}\n`,
            stderr: `${word}-err\n`,
            state: 'kept',
          })
        }
      })
    },
  },
  {
    title: 'output without a line break, empty output and bytes that are no text come as they are',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        assert.equal(await says('printf no-newline'), 'no-newline')
        assert.equal(await says(':'), '')
        assert.equal(await says('printf "\\n\\n"'), '\n\n')
        const raw = await shell.exec("printf '\\036\\000\\377\\036mark-\\036'; printf '\\036' >&2")
        assert.deepEqual([...raw.stdoutBytes], [0x1e, 0, 0xff, 0x1e, ...Buffer.from('mark-'), 0x1e])
        assert.deepEqual([...raw.stderrBytes], [0x1e])
      })
    },
  },
  {
    title: 'a hundred megabytes of output are drained and bounded, and the shell goes on',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        const result = await shell.exec('x=5; head -c 100000000 /dev/zero; head -c 1000000 /dev/zero >&2; (exit 4)')
        assert.deepEqual(result.ended, exit(4))
        assert.deepEqual([result.stdoutTotalBytes, result.stderrTotalBytes], [100 * megabytes, megabytes])
        assert.equal(result.stdoutTruncated, true)
        assert.ok(result.stdoutBytes.length <= 10 * 1024 * 1024)
        assert.equal(await says('echo $x'), '5\n')
      })
    },
  },
  {
    title: 'everything that a shell knows can be printed without ending the output',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        const looks = 'set; export -p; trap; alias; cat /proc/$$/environ /proc/$$/cmdline'
        assert.match(await says(`${looks}; echo end`), /end\n$/)
        const everything = await shell.exec(`set -x; set -v; ${looks}; echo end`)
        assert.match(everything.stdout, /end\n$/)
        assert.match(everything.stderr, /echo end\n$/)
        await shell.exec('set +x; set +v')
        assert.equal(await says('echo on'), 'on\n')
      })
    },
  },
  {
    title: 'a command that redirects its own outputs for good does so for itself alone',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        assert.equal(await says('exec >/dev/null; echo swallowed'), '')
        assert.equal(await says('echo heard'), 'heard\n')
        assert.equal((await shell.exec('exec 2>&1; echo joined >&2')).stdout, 'joined\n')
        assert.deepEqual(told(await shell.exec('exec >&- 2>&-; echo nowhere; (exit 5)')).ended, exit(5))
        assert.equal((await shell.exec('echo apart >&2')).stderr, 'apart\n')
      })
    },
  },
  {
    title: 'a command reads end of file, also where it closes its input for good',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        assert.equal(await says('cat; read line; echo "[$line]"'), '[]\n')
        await shell.exec('exec <&-; cat')
        assert.equal(await says('cat; echo on'), 'on\n')
      })
    },
  },
  {
    title: 'there is no terminal: stty fails and says so',
    async run(subject) {
      await withShell(subject, async ({ shell }) => {
        const result = await shell.exec('test -t 0 || test -t 1 || test -t 2; echo $?; stty -a')
        assert.equal(result.stdout, '1\n')
        assert.notEqual(result.exitCode, 0)
        assert.notEqual(result.stderr, '')
      })
    },
  },
  {
    title:
      'here-documents, quotes, comments, line breaks and every printable byte reach the shell as they were written',
    async run(subject) {
      await withShell(subject, async ({ says }) => {
        const printable = String.fromCharCode(...Array.from({ length: 95 }, (_, at) => at + 32))
        assert.equal(
          await says(`cat <<'END'\n${printable}\n\tünïcode 漢字 🙂\n\nEND\n# a comment\necho "it's"`),
          [printable, '\tünïcode 漢字 🙂', '', "it's", ''].join('\n'),
        )
        assert.equal(
          await says('x=1\ncat <<END\n$x $(echo two)\nEND\nif true\nthen\n  echo three\nfi'),
          '1 two\nthree\n',
        )
        assert.equal(await says("printf '%s|' a\\\nb 'c\n\nd'"), 'ab|c\n\nd|')
        assert.equal(await says('  \n# nothing but a comment'), '')
      })
    },
  },
  {
    title: 'a text that the shell cannot parse is told on stderr, and the next command runs',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        await says('x=5')
        for (const text of ['echo "open', "echo 'open", 'if true', 'fi', '( echo', 'cat <<END', 'echo $(', '}']) {
          const result = await shell.exec(text)
          assert.ok(result.ended.by === 'exit', JSON.stringify(result.ended))
          assert.equal(result.state, 'kept', text)
        }
        assert.equal(await says('echo $x'), '5\n')
      })
    },
  },
  {
    title: 'a long command is run as it stands, and one that is too long is refused',
    async run(subject) {
      await withShell(subject, async ({ shell, says }) => {
        const long = 'x'.repeat(100_000)
        assert.equal(await says(`printf %s ${long} | wc -c`).then((count) => count.trim()), '100000')
        await assert.rejects(shell.exec(`: ${'x'.repeat(131_072)}`), { code: 'TOO_LARGE' })
        await assert.rejects(shell.exec('echo \0'), { code: 'INVALID_INPUT' })
        assert.equal(await says('echo on'), 'on\n')
      })
    },
  },
  {
    title: 'output is handed on while a command in a shell runs, and a slow reader holds it back without losing a byte',
    async run(subject) {
      await withShell(subject, async ({ shell }) => {
        let bytes = 0
        const result = await shell.exec('head -c 3000000 /dev/zero', {
          onStdout: async (chunk) => {
            bytes += chunk.length
            await new Promise((resolve) => setTimeout(resolve, 1))
          },
        })
        assert.deepEqual([result.ended, bytes, result.stdoutTotalBytes], [exit(0), 3 * megabytes, 3 * megabytes])
      })
    },
  },
]
