import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openHostContext, type HostContext } from '../../test/fixtures/host-context.ts'
import type { Sandbox } from '../contract/sandbox.ts'
import { plainName, plainOutput } from './printable.ts'
import { tools, type ToolResult } from './tools.ts'

let host: HostContext
beforeAll(() => {
  host = openHostContext()
  mkdirSync(join(host.workspace, 'src/deep/deeper'), { recursive: true })
  writeFileSync(join(host.workspace, 'src/a.py'), 'import os\nprint(1)\n')
  writeFileSync(join(host.workspace, 'src/deep/b.py'), 'import sys\n')
  writeFileSync(join(host.workspace, 'bin'), 'import \0')
})
afterAll(() => host.close())

const description = 'a test'
const call = (set: 'deerflow' | 'core', name: string, input: object): Promise<ToolResult> => {
  const tool = tools(host.sandbox, { set }).find((each) => each.name === name)
  if (tool === undefined) throw new Error(`no tool ${name}`)
  return tool.run(set === 'deerflow' ? { description, ...input } : input)
}

describe('the seven tools', () => {
  it('have their names, parameters and defaults', () => {
    const parameters = Object.fromEntries(
      tools(host.sandbox, { set: 'deerflow' }).map((tool) => [
        tool.name,
        Object.keys(tool.inputSchema.properties as object),
      ]),
    )
    expect(parameters).toEqual({
      bash: ['description', 'command'],
      ls: ['description', 'path'],
      glob: ['description', 'pattern', 'path', 'include_dirs', 'max_results'],
      grep: ['description', 'pattern', 'path', 'glob', 'literal', 'case_sensitive', 'max_results'],
      read_file: ['description', 'path', 'start_line', 'end_line'],
      write_file: ['description', 'path', 'content', 'append'],
      str_replace: ['description', 'path', 'old_str', 'new_str', 'replace_all'],
    })
    const grep = tools(host.sandbox, { set: 'deerflow' }).find((tool) => tool.name === 'grep')
    expect(grep?.inputSchema).toMatchObject({
      properties: { max_results: { default: 100, maximum: 500 }, case_sensitive: { default: false } },
      required: ['description', 'pattern', 'path'],
      additionalProperties: false,
    })
  })

  it('bash tells exit code, stdout and stderr apart', async () => {
    expect((await call('deerflow', 'bash', { command: 'echo out; echo err >&2; exit 3' })).text).toBe(
      'stdout:\nout\nstderr:\nerr\nExit code: 3',
    )
    expect((await call('deerflow', 'bash', { command: 'printf out' })).text).toBe('out\nExit code: 0')
    expect((await call('deerflow', 'bash', { command: 'true' })).text).toBe('(no output)\nExit code: 0')
    expect((await call('deerflow', 'bash', { command: 'false' })).isError).toBe(false)
  })

  it('bash cuts the middle of long output, and the whole can be read where the cut says', async () => {
    const { text } = await call('deerflow', 'bash', { command: 'seq 1 20000' })
    expect(text.length).toBeLessThanOrEqual(20_000)
    expect(text).toMatch(/^1\n2\n/)
    expect(text).toMatch(/\n20000\nExit code: 0$/)
    const [, cut, whole, path] = /… (\d+) of (\d+) characters cut\. The whole is in (\S+) …/.exec(text) ?? []
    expect(Number(whole)).toBe(108_894)
    expect(Number(cut)).toBeGreaterThan(80_000)
    const read = await call('deerflow', 'read_file', { path, start_line: 10_000, end_line: 10_001 })
    expect(read.text).toBe('10000\n10001\n')
  })

  it('bash drops terminal escapes from the text and keeps them in the structured result', async () => {
    const result = await call('deerflow', 'bash', {
      command: String.raw`printf '\033[31mred\033[0m \033]0;title\007 \010x\r\n'`,
    })
    expect(result.text).toBe('red  x\nExit code: 0')
    expect(result.structured).toMatchObject({ stdout: expect.stringContaining('\u001B[31m') as string })
  })

  it('ls shows two levels', async () => {
    symlinkSync('a.py', join(host.workspace, 'src/link'))
    expect((await call('deerflow', 'ls', { path: 'src' })).text).toBe(
      'a.py (19 bytes)\ndeep/\ndeep/b.py (11 bytes)\ndeep/deeper/\nlink -> a.py',
    )
    expect((await call('deerflow', 'ls', { path: 'src/deep/deeper' })).text).toBe('(empty)')
  })

  it('glob and grep number, count and say when there is more', async () => {
    expect((await call('deerflow', 'glob', { pattern: '**/*.py', path: '/workspace/src' })).text).toBe(
      'Found 2 paths under /workspace/src\n1. /workspace/src/a.py\n2. /workspace/src/deep/b.py',
    )
    expect((await call('deerflow', 'glob', { pattern: '**', path: 'src', max_results: 1 })).text).toMatch(
      /^Found 1 path under .*\n1\. .*\nResults truncated\. Narrow the path or pattern to see fewer matches\.$/,
    )
    expect((await call('deerflow', 'grep', { pattern: 'IMPORT', path: '/workspace' })).text).toBe(
      'Found 2 matches under /workspace\n/workspace/src/a.py:1: import os\n/workspace/src/deep/b.py:1: import sys\nSkipped: 1 binary file.',
    )
    expect(
      (await call('deerflow', 'grep', { pattern: 'IMPORT', path: '/workspace/src', case_sensitive: true })).text,
    ).toBe('No matches found under /workspace/src')
  })

  it('read_file, write_file and str_replace work on one file', async () => {
    expect((await call('deerflow', 'write_file', { path: 'n/f', content: 'a\nb\n' })).text).toBe(
      'OK: created /workspace/n/f (4 bytes)',
    )
    expect((await call('deerflow', 'write_file', { path: 'n/f', content: 'c\n', append: true })).text).toMatch(
      /^OK: added 2 bytes/,
    )
    expect((await call('deerflow', 'str_replace', { path: 'n/f', old_str: 'b', new_str: '$&' })).text).toBe(
      'OK: replaced 1 place in /workspace/n/f',
    )
    expect((await call('deerflow', 'read_file', { path: 'n/f', start_line: 2, end_line: 3 })).text).toBe('$&\nc\n')
    writeFileSync(join(host.workspace, 'n/empty'), '')
    expect((await call('deerflow', 'read_file', { path: 'n/empty' })).text).toBe('(empty)')
  })

  it('read_file keeps the head of a long file and says how to read on', async () => {
    writeFileSync(
      join(host.workspace, 'long'),
      Array.from({ length: 20_000 }, (_, index) => `line ${index + 1}\n`).join(''),
    )
    const { text } = await call('deerflow', 'read_file', { path: 'long' })
    expect(text.length).toBeLessThanOrEqual(50_000)
    const [, last, next] = /… cut after line (\d+) of 20000\. Read on with start_line (\d+)\.$/.exec(text) ?? []
    expect(text).toContain(`\nline ${last}\n… cut`)
    expect(Number(next)).toBe(Number(last) + 1)
    const rest = await call('deerflow', 'read_file', { path: 'long', start_line: Number(next) })
    expect(rest.text).toMatch(new RegExp(`^line ${next}\n`))
    writeFileSync(join(host.workspace, 'one-line'), '€'.repeat(60_000))
    const line = await call('deerflow', 'read_file', { path: 'one-line' })
    expect(line.text.length).toBeLessThanOrEqual(50_000)
    expect(line.text).toMatch(/cut within line 1/)
  })

  it('failures are results with the code and the fix', async () => {
    const missing = await call('deerflow', 'read_file', { path: '/workspace/none' })
    expect(missing).toMatchObject({ isError: true, structured: { error: { code: 'NOT_FOUND' } } })
    expect(missing.text).toMatch(/^Error \[NOT_FOUND\]: Cannot read/)
    const twice = await call('deerflow', 'str_replace', { path: 'src/a.py', old_str: 't', new_str: 'x' })
    expect(twice.text).toMatch(/^Error \[TEXT_NOT_UNIQUE\]: .* 2 times\nHint: /)
    const wrong = await call('deerflow', 'grep', { pattern: 'a', path: '.', max_results: 501 })
    expect(wrong.text).toMatch(/^Error \[INVALID_INPUT\]: Cannot call grep: max_results: /)
    expect((await call('deerflow', 'bash', { cmd: 'x' })).text).toMatch(/command: /)
  })

  it('what is not ours never leaks', async () => {
    const broken = { ...host.sandbox, execute: () => Promise.reject(new Error(`at ${host.workspace}`)) } as Sandbox
    const result = await tools(broken, { set: 'deerflow' })[1]!.run({ description, path: '.' })
    expect(result).toMatchObject({ isError: true, text: 'Error [INTERNAL]: Glovebox has a fault.' })
    expect(JSON.stringify(result)).not.toContain(host.workspace)
  })
})

describe('the core tools', () => {
  it('have the names and parameters that models know, and are the default', () => {
    expect(
      Object.fromEntries(
        tools(host.sandbox).map((tool) => [tool.name, Object.keys(tool.inputSchema.properties as object)]),
      ),
    ).toEqual({
      bash: ['command', 'timeout_ms', 'cwd'],
      read: ['file_path', 'view_range'],
      write: ['file_path', 'content'],
      edit: ['file_path', 'old_string', 'new_string', 'replace_all'],
      glob: ['pattern', 'path'],
      grep: ['pattern', 'path', 'glob'],
      ls: ['path'],
    })
  })

  it('read, write, edit, search and list', async () => {
    expect((await call('core', 'write', { file_path: 'c', content: '1\n2\n3\n' })).text).toBe(
      'Created /workspace/c (6 bytes)',
    )
    expect((await call('core', 'edit', { file_path: 'c', old_string: '2', new_string: 'two' })).isError).toBe(false)
    expect(readFileSync(join(host.workspace, 'c'), 'utf8')).toBe('1\ntwo\n3\n')
    expect((await call('core', 'read', { file_path: 'c', view_range: [2, -1] })).text).toBe('two\n3\n')
    expect((await call('core', 'read', { file_path: 'c', view_range: [2, 2] })).text).toBe('two\n')
    expect((await call('core', 'glob', { pattern: 'src/*.py' })).text).toMatch(/1\. \/workspace\/src\/a\.py/)
    expect((await call('core', 'grep', { pattern: 'sys', glob: '*.py' })).text).toMatch(/b\.py:1: import sys/)
    expect((await call('core', 'ls', { path: 'src' })).text).toMatch(/^a\.py .*\ndeep\/\nlink -> a\.py$/)
    expect((await call('core', 'bash', { command: 'basename "$PWD"', cwd: '/workspace/src' })).text).toBe(
      'src\nExit code: 0',
    )
  })

  it('refuse parameters that do not exist yet, by name', async () => {
    expect((await call('core', 'bash', { command: 'true', shell_id: 'x' })).text).toMatch(
      /^Error \[INVALID_INPUT\]: .*shell_id/,
    )
  })

  it('carry all four annotations', () => {
    for (const tool of [...tools(host.sandbox), ...tools(host.sandbox, { set: 'deerflow' })]) {
      expect(Object.keys(tool.annotations).toSorted()).toEqual([
        'destructiveHint',
        'idempotentHint',
        'openWorldHint',
        'readOnlyHint',
      ])
      expect(tool.description.length).toBeGreaterThan(20)
    }
  })

  it('an unknown toolset is refused', () => {
    expect(() => tools(host.sandbox, { set: 'deerflo' as 'deerflow' })).toThrow(
      expect.objectContaining({ hint: 'Did you mean "deerflow"?' }),
    )
  })
})

describe('text of the guest inside ours', () => {
  it('cannot forge a line with a file name', () => {
    expect(plainName('a\n2. /workspace/fake')).toBe(String.raw`"a\n2. /workspace/fake"`)
    expect(plainName('plain name')).toBe('plain name')
  })

  it('loses escapes in linear time', () => {
    const started = performance.now()
    expect(plainOutput('\u001B['.repeat(300_000))).toHaveLength(0)
    expect(plainOutput('\u001B]'.repeat(300_000))).toHaveLength(0)
    // In the square of its length it would take minutes.
    expect(performance.now() - started).toBeLessThan(15_000)
    expect(plainOutput('a\tb\nc\u009Bd')).toBe('a\tb\ncd')
    expect(plainOutput('\u001B]0;never ended\nrest')).toBe('0;never ended\nrest')
  })
})
