import assert from 'node:assert/strict'
import { access, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConformanceCase, Subject } from '../case.ts'
import { hidesTheHost, refused } from '../expect.ts'

interface ExecOutput {
  readonly exitCode: number
  readonly ended: { readonly by: string }
  readonly stdout: string
  readonly stderr: string
}

async function place(subject: Subject) {
  const plain = await subject.scene('plain')
  const room = await subject.room(plain)
  const act = async <T = Record<string, unknown>>(name: string, input: unknown): Promise<T> =>
    (await plain.sandbox.execute(name, input)) as T
  return { ...room, act, sandbox: plain.sandbox }
}

export const actionCases: readonly ConformanceCase[] = [
  {
    title: 'an action that does not exist is refused with UNKNOWN_ACTION, and a near name is offered',
    async run(subject) {
      const { act } = await place(subject)
      const error = await refused('UNKNOWN_ACTION', act('read_txt', { path: 'x' }))
      assert.ok(error.hint?.includes('read_text'), error.hint)
    },
  },
  {
    title: 'input of the wrong shape is refused with INVALID_INPUT, naming the field, and nothing is done',
    async run(subject) {
      const { act, guest, host } = await place(subject)
      const error = await refused('INVALID_INPUT', act('write_text', { path: `${guest}/new`, text: 5 }))
      assert.ok(error.message.includes('text'), error.message)
      await assert.rejects(access(join(host, 'new')))
    },
  },
  {
    title: 'input with a field that the action does not know is refused with INVALID_INPUT',
    async run(subject) {
      const { act, guest, host } = await place(subject)
      await refused('INVALID_INPUT', act('write_text', { path: `${guest}/new`, text: 'x', mode: 0o777 }))
      await assert.rejects(access(join(host, 'new')))
    },
  },
  {
    title: 'input that is no object is refused with INVALID_INPUT',
    async run(subject) {
      const { act } = await place(subject)
      for (const input of [undefined, null, 'path', 7, []]) await refused('INVALID_INPUT', act('stat', input))
    },
  },
  {
    title: 'an action that is cancelled before it begins does nothing',
    async run(subject) {
      const { sandbox, guest, host } = await place(subject)
      const input = { path: `${guest}/new`, text: 'x' }
      await refused('CANCELLED', sandbox.execute('write_text', input, { signal: AbortSignal.abort() }))
      await assert.rejects(access(join(host, 'new')))
    },
  },
  {
    title: 'write_text and read_text agree, and tell the hash of what they wrote and read',
    async run(subject) {
      const { act, guest } = await place(subject)
      const wrote = await act('write_text', { path: `${guest}/f`, text: 'grüße\n' })
      const read = await act('read_text', { path: `${guest}/f` })
      assert.deepEqual([wrote['created'], read['text'], read['truncated']], [true, 'grüße\n', false])
      assert.equal(wrote['sha256'], read['sha256'])
    },
  },
  {
    title: 'read_text gives a range of lines, the tail, and how many lines there are',
    async run(subject) {
      const { act, guest, host } = await place(subject)
      await writeFile(join(host, 'lines'), Array.from({ length: 10 }, (_, index) => `line ${index + 1}\n`).join(''))
      const range = await act('read_text', { path: `${guest}/lines`, startLine: 3, endLine: 4 })
      assert.deepEqual([range['text'], range['totalLines']], ['line 3\nline 4\n', 10])
      const tail = await act('read_text', { path: `${guest}/lines`, tailLines: 2 })
      assert.equal(tail['text'], 'line 9\nline 10\n')
    },
  },
  {
    title: 'read_text keeps to its byte limit and says that it is truncated',
    async run(subject) {
      const { act, guest, host } = await place(subject)
      await writeFile(join(host, 'long'), 'x'.repeat(5000))
      const read = await act<{ text: string; truncated: boolean; sizeBytes: number }>('read_text', {
        path: `${guest}/long`,
        maxBytes: 100,
      })
      assert.ok(read.text.length <= 100)
      assert.deepEqual([read.truncated, read.sizeBytes], [true, 5000])
    },
  },
  {
    title: 'append_text adds to the end',
    async run(subject) {
      const { act, guest, host } = await place(subject)
      for (const text of ['a\n', 'b\n']) await act('append_text', { path: `${guest}/log`, text })
      assert.equal(await readFile(join(host, 'log'), 'utf8'), 'a\nb\n')
    },
  },
  {
    title: 'replace_text replaces a text that is there exactly once, and keeps line ends and BOM',
    async run(subject) {
      const { act, guest, host } = await place(subject)
      await writeFile(join(host, 'f'), '\ufeffone\r\ntwo\r\n')
      await act('replace_text', { path: `${guest}/f`, oldText: 'two', newText: 'three' })
      assert.equal(await readFile(join(host, 'f'), 'utf8'), '\ufeffone\r\nthree\r\n')
    },
  },
  {
    title: 'replace_text takes $& and its like as plain text',
    async run(subject) {
      const { act, guest, host } = await place(subject)
      await writeFile(join(host, 'f'), 'a [x] b')
      await act('replace_text', { path: `${guest}/f`, oldText: '[x]', newText: "$& $1 $$ $` $'" })
      assert.equal(await readFile(join(host, 'f'), 'utf8'), "a $& $1 $$ $` $' b")
    },
  },
  {
    title: 'replace_text tells a text that is missing from one that is not unique, and changes nothing',
    async run(subject) {
      const { act, guest, host } = await place(subject)
      await writeFile(join(host, 'f'), 'x x')
      await refused('TEXT_NOT_FOUND', act('replace_text', { path: `${guest}/f`, oldText: 'y', newText: 'z' }))
      await refused('TEXT_NOT_UNIQUE', act('replace_text', { path: `${guest}/f`, oldText: 'x', newText: 'z' }))
      assert.equal(await readFile(join(host, 'f'), 'utf8'), 'x x')
    },
  },
  {
    title: 'replace_text with all replaces every one and counts them',
    async run(subject) {
      const { act, guest, host } = await place(subject)
      await writeFile(join(host, 'f'), 'x.x.x')
      const done = await act('replace_text', { path: `${guest}/f`, oldText: 'x', newText: 'yy', all: true })
      assert.deepEqual([done['count'], await readFile(join(host, 'f'), 'utf8')], [3, 'yy.yy.yy'])
    },
  },
  {
    title: 'twenty replacements in one file at once lose none',
    async run(subject) {
      const { act, guest, host } = await place(subject)
      const marks = Array.from({ length: 20 }, (_, index) => `<${index}>`)
      await writeFile(join(host, 'f'), marks.join(' '))
      const swap = (oldText: string) => act('replace_text', { path: `${guest}/f`, oldText, newText: 'done' })
      await Promise.all(marks.map(swap))
      assert.equal(await readFile(join(host, 'f'), 'utf8'), marks.map(() => 'done').join(' '))
    },
  },
  {
    title: 'list_dir goes as deep as it is told, and find_entries finds by a part of the name',
    async run(subject) {
      const { act, guest } = await place(subject)
      await act('write_text', { path: `${guest}/a/b/Target.txt`, text: '' })
      const listed = await act<{ entries: { path: string }[] }>('list_dir', { path: guest, depth: 2 })
      assert.deepEqual(
        listed.entries.map(({ path }) => path),
        [`${guest}/a`, `${guest}/a/b`],
      )
      const found = await act<{ entries: { path: string }[] }>('find_entries', { path: guest, name: 'target' })
      assert.deepEqual(
        found.entries.map(({ path }) => path),
        [`${guest}/a/b/Target.txt`],
      )
    },
  },
  {
    title: 'stat and mkdir answer as actions with the guest path that they mean',
    async run(subject) {
      const { act, guest } = await place(subject)
      const relative = `${guest.replace('/workspace/', '')}/./new`
      assert.deepEqual(await act('mkdir', { path: relative }), { path: `${guest}/new`, created: true })
      assert.equal((await act('stat', { path: relative }))['kind'], 'directory')
    },
  },
  {
    title: 'run_command runs a program of its bounded set without a shell',
    async run(subject) {
      const { act, guest, host } = await place(subject)
      await writeFile(join(host, '$(id) *.txt'), 'plain\n')
      const result = await act<ExecOutput>('run_command', { argv: ['cat', '$(id) *.txt'], cwd: guest })
      assert.deepEqual([result.exitCode, result.stdout], [0, 'plain\n'])
    },
  },
  {
    title: 'run_command refuses a program outside its bounded set with COMMAND_NOT_ALLOWED',
    async run(subject) {
      const { act } = await place(subject)
      for (const argv of [
        ['bash', '-c', 'id'],
        ['rm', '-rf', '.'],
        ['python3'],
        ['env', 'sh', '-c', 'id'],
        ['./cat'],
      ]) {
        await refused('COMMAND_NOT_ALLOWED', act('run_command', { argv }))
      }
    },
  },
  {
    title: 'run_shell runs a command line; a failure is a result with its code',
    async run(subject) {
      const { act, guest } = await place(subject)
      const input = { command: 'echo "$WHO" | tr a-z A-Z; echo err >&2; exit 7', cwd: guest, env: { WHO: 'me' } }
      const result = await act<ExecOutput>('run_shell', input)
      assert.deepEqual([result.exitCode, result.stdout, result.stderr], [7, 'ME\n', 'err\n'])
    },
  },
  {
    title: 'run_shell ends by timeout like any command',
    async run(subject) {
      const { act } = await place(subject)
      const result = await act<ExecOutput>('run_shell', { command: 'sleep 20', timeoutMs: 200 })
      assert.deepEqual([result.ended.by, result.exitCode], ['timeout', 124])
    },
  },
  {
    title: 'run_shell takes a command line that begins with a dash as a command line',
    async run(subject) {
      const { act } = await place(subject)
      assert.equal((await act<ExecOutput>('run_shell', { command: '-no-such-program' })).exitCode, 127)
    },
  },
  {
    title: 'inspect tells what describe tells, and no host path',
    async run(subject) {
      const { act, sandbox } = await place(subject)
      const told = await act('inspect', {})
      hidesTheHost(told)
      assert.deepEqual([told['id'], told['cwd']], [sandbox.id, '/workspace'])
      assert.deepEqual(told['notEnforced'], sandbox.describe().notEnforced)
    },
  },
  {
    title: 'results of actions survive a round trip through JSON',
    async run(subject) {
      const { act, guest } = await place(subject)
      await act('write_text', { path: `${guest}/f`, text: 'x' })
      for (const [name, input] of [
        ['stat', { path: `${guest}/f` }],
        ['read_text', { path: `${guest}/f` }],
        ['list_dir', { path: guest }],
        ['run_shell', { command: 'echo x' }],
        ['inspect', {}],
      ] as const) {
        const result = await act(name, input)
        assert.deepEqual(JSON.parse(JSON.stringify(result)), result, name)
      }
    },
  },
]
