import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { tools } from '../../tools/tools.ts'
import type { ConformanceCase, Subject } from '../case.ts'
import { hidesTheHost } from '../expect.ts'

const why = { description: 'a conformance case' }

async function place(subject: Subject) {
  const plain = await subject.scene('plain')
  const room = await subject.room(plain)
  const known = new Map(tools(plain.sandbox, { set: 'deerflow' }).map((tool) => [tool.name, tool]))
  const call = async (name: string, input: Record<string, unknown>) => {
    const tool = known.get(name)
    assert.ok(tool, `there is no tool ${name}`)
    const result = await tool.run({ ...why, ...input })
    hidesTheHost(result)
    return result
  }
  return { ...room, call, known }
}

export const toolCases: readonly ConformanceCase[] = [
  {
    title: 'the deerflow set has the seven tools, each with a description and a schema',
    async run(subject) {
      const { known } = await place(subject)
      const names = ['bash', 'glob', 'grep', 'ls', 'read_file', 'str_replace', 'write_file']
      assert.deepEqual([...known.keys()].toSorted(), names)
      for (const tool of known.values()) {
        assert.ok(tool.description.length > 20)
        assert.equal(tool.inputSchema['type'], 'object')
      }
    },
  },
  {
    title: 'bash tells exit code, stdout and stderr apart',
    async run(subject) {
      const { call, guest } = await place(subject)
      const { text, isError } = await call('bash', { command: `cd ${guest}; echo out-text; echo err-text >&2; exit 3` })
      assert.equal(isError, false)
      assert.match(text, /stdout:\nout-text\nstderr:\nerr-text\n[\s\S]*Exit code: 3/)
    },
  },
  {
    title: 'bash says so when there is no output',
    async run(subject) {
      const { call } = await place(subject)
      assert.match((await call('bash', { command: 'true' })).text, /\(no output\)/)
    },
  },
  {
    title: 'bash keeps to 20,000 characters, keeps both ends, and says where the rest can be read',
    async run(subject) {
      const { call } = await place(subject)
      const { text } = await call('bash', { command: 'echo FIRST; head -c 100000 /dev/zero | tr "\\0" x; echo LAST' })
      assert.ok(text.length <= 20_000, `${text.length} characters`)
      assert.ok(text.includes('FIRST') && text.includes('LAST'))
      assert.match(text, /\d+ of \d+ characters cut/)
    },
  },
  {
    title: 'write_file and read_file agree, and append adds to the end',
    async run(subject) {
      const { call, guest } = await place(subject)
      const path = `${guest}/deep/file.txt`
      assert.equal((await call('write_file', { path, content: 'one\ntwo\n' })).isError, false)
      await call('write_file', { path, content: 'three\n', append: true })
      assert.ok((await call('read_file', { path })).text.includes('one\ntwo\nthree\n'))
      const part = (await call('read_file', { path, start_line: 2, end_line: 2 })).text
      assert.ok(part.includes('two') && !part.includes('one') && !part.includes('three'), part)
    },
  },
  {
    title: 'read_file keeps the head of a long file, to 50,000 characters, and says how to read on',
    async run(subject) {
      const { call, guest, host } = await place(subject)
      const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index + 1}`)
      await writeFile(join(host, 'long'), lines.join('\n'))
      const { text } = await call('read_file', { path: `${guest}/long` })
      assert.ok(text.length <= 51_000, `${text.length} characters`)
      assert.ok(text.includes('line 1\n') && !text.includes('line 20000'))
      assert.match(text, /start_line \d+/)
    },
  },
  {
    title: 'str_replace wants a unique text unless replace_all',
    async run(subject) {
      const { call, guest, host } = await place(subject)
      await writeFile(join(host, 'f'), 'a b a')
      const asked = { path: `${guest}/f`, old_str: 'a', new_str: 'c' }
      const refusal = await call('str_replace', asked)
      assert.equal(refusal.isError, true)
      assert.ok(refusal.text.includes('TEXT_NOT_UNIQUE'), refusal.text)
      assert.equal((await call('str_replace', { ...asked, replace_all: true })).isError, false)
      assert.equal(await readFile(join(host, 'f'), 'utf8'), 'c b c')
    },
  },
  {
    title: 'ls shows two levels and says so when a directory is empty',
    async run(subject) {
      const { call, guest, host } = await place(subject)
      assert.match((await call('ls', { path: guest })).text, /\(empty\)/)
      await mkdir(join(host, 'one/two/three'), { recursive: true })
      const { text } = await call('ls', { path: guest })
      assert.ok(text.includes('two') && !text.includes('three'), text)
    },
  },
  {
    title: 'glob and grep tell how many they found, and say when they stopped',
    async run(subject) {
      const { call, guest, host } = await place(subject)
      for (const name of ['a.txt', 'b.txt', 'c.txt']) await writeFile(join(host, name), 'needle\n')
      assert.match((await call('glob', { pattern: '*.txt', path: guest })).text, /Found 3 paths under /)
      const cut = await call('grep', { pattern: 'needle', path: guest, max_results: 2 })
      assert.match(cut.text, /Results truncated/)
    },
  },
  {
    title: 'a tool never rejects: bad input and refusals are results that say what to do',
    async run(subject) {
      const { call, known } = await place(subject)
      const wrong = await known.get('read_file')?.run({ path: 5 })
      assert.equal(wrong?.isError, true)
      assert.ok(wrong?.text.includes('INVALID_INPUT'), wrong?.text)
      const outside = await call('read_file', { path: '/etc/passwd' })
      assert.ok(outside.isError && outside.text.includes('OUTSIDE_MOUNTS'), outside.text)
    },
  },
]
