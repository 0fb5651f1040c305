import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openHostContext, type HostContext } from '../../test/fixtures/host-context.ts'
import { actions, findAction } from './registry.ts'

describe('file actions', () => {
  let host: HostContext
  beforeAll(() => {
    host = openHostContext()
  })
  afterAll(() => host.close())
  const at = (name: string): string => join(host.workspace, name)

  it('text survives a round trip with its byte order mark, carriage returns and any character', async () => {
    const text = '\uFEFFone\r\ntwo 😀\r\n'
    const written = await host.execute('write_text', { path: 'deep/er/a.txt', text })
    expect(written).toMatchObject({ path: '/workspace/deep/er/a.txt', created: true, bytes: Buffer.byteLength(text) })
    expect(readFileSync(at('deep/er/a.txt'), 'utf8')).toBe(text)
    expect(await host.execute('read_text', { path: 'deep/er/a.txt' })).toMatchObject({
      text,
      startLine: 1,
      endLine: 2,
      totalLines: 2,
      truncated: false,
      sha256: (written as { sha256: string }).sha256,
    })
  })

  it('read_text gives a range, a tail, a cut head, and refuses a cut when the whole is asked for', async () => {
    writeFileSync(at('lines'), 'a\nb\nc\nd\n')
    expect(await host.execute('read_text', { path: 'lines', startLine: 2, endLine: 3 })).toMatchObject({
      text: 'b\nc\n',
    })
    expect(await host.execute('read_text', { path: 'lines', tailLines: 1 })).toMatchObject({
      text: 'd\n',
      startLine: 4,
    })
    expect(await host.execute('read_text', { path: 'lines', maxBytes: 5 })).toMatchObject({
      text: 'a\nb\nc',
      truncated: true,
    })
    await expect(host.execute('read_text', { path: 'lines', maxBytes: 5, whole: true })).rejects.toMatchObject({
      code: 'TOO_LARGE',
    })
    await expect(host.execute('read_text', { path: 'lines', startLine: 9 })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      facts: { totalLines: 4 },
    })
  })

  it('the tail of a very large file is read without its head', async () => {
    writeFileSync(at('large'), `${'x'.repeat(99)}\n`.repeat(200_000))
    const tail = await host.execute('read_text', { path: 'large', tailLines: 2 })
    expect(tail).toMatchObject({ text: `${'x'.repeat(99)}\n`.repeat(2), truncated: false, sizeBytes: 20_000_000 })
    expect(tail).not.toHaveProperty('startLine')
    await expect(host.execute('read_text', { path: 'large', startLine: 199_999 })).rejects.toMatchObject({
      code: 'TOO_LARGE',
    })
  })

  it('binary is reported by read_text and carried by read_bytes and write_bytes', async () => {
    const raw = Buffer.from([0, 255, 1, 254])
    await host.execute('write_bytes', { path: 'bin', base64: raw.toString('base64') })
    expect(readFileSync(at('bin'))).toEqual(raw)
    await expect(host.execute('read_text', { path: 'bin' })).rejects.toMatchObject({ code: 'NOT_TEXT' })
    expect(await host.execute('read_bytes', { path: 'bin' })).toMatchObject({
      base64: raw.toString('base64'),
      truncated: false,
    })
    expect(await host.execute('read_bytes', { path: 'bin', maxBytes: 2, partial: true })).toMatchObject({
      bytes: 2,
      truncated: true,
    })
    await expect(host.execute('read_bytes', { path: 'bin', maxBytes: 2 })).rejects.toMatchObject({ code: 'TOO_LARGE' })
    await host.execute('append_text', { path: 'bin', base64: 'AA==' })
    expect(readFileSync(at('bin'))).toHaveLength(5)
  })

  it('expectedSha256 refuses a lost update, and null demands that nothing is there', async () => {
    const first = (await host.execute('write_text', { path: 'cas', text: '1', expectedSha256: null })) as {
      sha256: string
    }
    await expect(host.execute('write_text', { path: 'cas', text: '2', expectedSha256: null })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
    await host.execute('write_text', { path: 'cas', text: '2', expectedSha256: first.sha256 })
    await expect(
      host.execute('write_text', { path: 'cas', text: '3', expectedSha256: first.sha256 }),
    ).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(readFileSync(at('cas'), 'utf8')).toBe('2')
  })

  it('replace_text changes one place, or all when asked, and changes nothing when it refuses', async () => {
    writeFileSync(at('edit'), '\uFEFFa\r\nb\r\na\r\n')
    await expect(host.execute('replace_text', { path: 'edit', oldText: 'a', newText: 'x' })).rejects.toMatchObject({
      code: 'TEXT_NOT_UNIQUE',
      facts: { count: 2 },
    })
    await expect(host.execute('replace_text', { path: 'edit', oldText: 'zz', newText: 'x' })).rejects.toMatchObject({
      code: 'TEXT_NOT_FOUND',
    })
    expect(readFileSync(at('edit'), 'utf8')).toBe('\uFEFFa\r\nb\r\na\r\n')
    expect(await host.execute('replace_text', { path: 'edit', oldText: 'a', newText: '$&', all: true })).toMatchObject({
      count: 2,
    })
    expect(readFileSync(at('edit'), 'utf8')).toBe('\uFEFF$&\r\nb\r\n$&\r\n')
  })

  it('list_dir shows entries by name, goes as deep as asked, and says when it stopped', async () => {
    mkdirSync(at('tree/sub/node_modules/x'), { recursive: true })
    writeFileSync(at('tree/sub/f'), '12345')
    symlinkSync('/etc', at('tree/link'))
    const deep = (await host.execute('list_dir', { path: 'tree', depth: 8 })) as { entries: { path: string }[] }
    expect(deep.entries.map((entry) => entry.path)).toEqual([
      '/workspace/tree/link',
      '/workspace/tree/sub',
      '/workspace/tree/sub/f',
      '/workspace/tree/sub/node_modules',
    ])
    expect(deep.entries[0]).toMatchObject({ kind: 'symlink', target: '/etc' })
    const all = (await host.execute('list_dir', { path: 'tree', depth: 8, includeIgnored: true })) as {
      entries: unknown[]
    }
    expect(all.entries).toHaveLength(5)
    expect(await host.execute('list_dir', { path: 'tree', limit: 1 })).toMatchObject({
      entries: [{ name: 'link' }],
      truncated: true,
    })
    expect(await host.execute('list_dir', { path: 'tree', limit: 2 })).toMatchObject({ truncated: false })
    expect(await host.execute('list_dir', { path: 'tree', depth: 2, limit: 2 })).toMatchObject({ truncated: true })
  })

  it('nested mounts appear as entries', async () => {
    const listed = (await host.execute('list_dir', {})) as { entries: { name: string }[] }
    expect(listed.entries.map((entry) => entry.name)).toContain('vault')
  })

  it('find_entries finds by part of a name or by pattern, and by kind', async () => {
    mkdirSync(at('find/Readme.d'), { recursive: true })
    writeFileSync(at('find/README.md'), '')
    const names = async (input: object): Promise<string[]> =>
      ((await host.execute('find_entries', { path: 'find', ...input })) as { entries: { name: string }[] }).entries.map(
        (entry) => entry.name,
      )
    expect(await names({ name: 'readme' })).toEqual(['README.md', 'Readme.d'])
    expect(await names({ name: 'readme', caseSensitive: true })).toEqual([])
    expect(await names({ name: '*.md' })).toEqual(['README.md'])
    expect(await names({ name: 'readme', kind: 'directory' })).toEqual(['Readme.d'])
    expect(await host.execute('find_entries', { path: 'find', name: 'e', maxResults: 1 })).toMatchObject({
      truncated: true,
    })
  })

  it('remove_entry needs the policy, and says how the operator allows it', async () => {
    writeFileSync(at('doomed'), '')
    await expect(host.execute('remove_entry', { path: 'doomed' })).rejects.toMatchObject({
      code: 'POLICY_DENIED',
      hint: expect.stringContaining('glovebox.yaml') as string,
    })
    const permissive = openHostContext({ delete: true, ceilings: { delete: true } })
    writeFileSync(join(permissive.workspace, 'doomed'), '')
    await permissive.execute('remove_entry', { path: 'doomed' })
    await expect(permissive.execute('stat', { path: 'doomed' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    permissive.close()
  })

  it('rename_entry and mkdir do as they say', async () => {
    expect(await host.execute('mkdir', { path: 'm/n' })).toMatchObject({ created: true })
    expect(await host.execute('mkdir', { path: 'm/n' })).toMatchObject({ created: false })
    await host.execute('rename_entry', { from: 'm/n', to: 'm/o' })
    expect(await host.execute('stat', { path: 'm/o' })).toMatchObject({ kind: 'directory' })
  })

  it('errors of files have distinct codes and no host path', async () => {
    const cases: [string, object | null, string][] = [
      ['read_text', { path: 'none' }, 'NOT_FOUND'],
      ['read_text', { path: '/etc/passwd' }, 'OUTSIDE_MOUNTS'],
      ['write_text', { path: '/readonly/x', text: '' }, 'READ_ONLY'],
      ['read_text', { path: 'vault/key' }, 'VAULT'],
      ['read_text', { path: 'a\0b' }, 'INVALID_PATH'],
      ['read_text', { path: 'tree' }, 'IS_A_DIRECTORY'],
      ['write_text', { path: 'x', text: '\uD800' }, 'INVALID_INPUT'],
      ['append_text', { path: 'x' }, 'INVALID_INPUT'],
      ['append_text', { path: 'x', text: '', base64: '' }, 'INVALID_INPUT'],
      ['read_text', { path: 'x', startLine: 3, endLine: 2 }, 'INVALID_INPUT'],
      ['read_text', { path: 'x', startLine: 3, tailLines: 2 }, 'INVALID_INPUT'],
      ['stat', { path: 'x', extra: 1 }, 'INVALID_INPUT'],
      ['stat', {}, 'INVALID_INPUT'],
      ['stat', null, 'INVALID_INPUT'],
      ['read_txt', {}, 'UNKNOWN_ACTION'],
    ]
    for (const [name, input, code] of cases) {
      const error: unknown = await host.execute(name, input).catch((reason: unknown) => reason)
      expect([name, input, error]).toMatchObject([name, input, { code }])
      expect(JSON.stringify([(error as Error).message, error])).not.toContain(host.workspace)
    }
  })

  it('an unknown action is told with the nearest name', async () => {
    await expect(host.execute('read_txt', {})).rejects.toMatchObject({ hint: 'Did you mean "read_text"?' })
    expect(findAction('read_text')?.effect).toBe('read')
    expect(findAction('nothing')).toBeUndefined()
  })

  it('inspect tells the sandbox, and every action has a strict schema and a summary', async () => {
    expect(await host.execute('inspect', {})).toMatchObject({ cwd: '/workspace' })
    for (const action of actions) {
      expect(action.summary).not.toBe('')
      expect(action.input.safeParse({ unheardOf: 1 }).success).toBe(false)
    }
    expect(new Set(actions.map((action) => action.name)).size).toBe(actions.length)
  })

  it('every output fits the schema that it publishes', async () => {
    const calls: [string, object][] = [
      ['list_dir', {}],
      ['stat', { path: '.' }],
      ['find_entries', { name: 'a' }],
      ['read_text', { path: 'lines' }],
      ['read_bytes', { path: 'bin' }],
      ['write_text', { path: 'w', text: 'x' }],
      ['inspect', {}],
      ['run_shell', { command: 'echo hi' }],
    ]
    for (const [name, input] of calls) {
      expect(findAction(name)?.output.safeParse(await host.execute(name, input))).toMatchObject({ success: true })
    }
  })
})

describe('command actions', () => {
  let host: HostContext
  beforeAll(() => {
    host = openHostContext()
  })
  afterAll(() => host.close())

  it('run_shell tells exit code, stdout and stderr apart, and takes input, environment and directory', async () => {
    mkdirSync(join(host.workspace, 'd'))
    const result = await host.execute('run_shell', {
      command: 'cat; echo "$NAME"; basename "$PWD"; echo bad >&2; exit 3',
      stdin: 'in\n',
      env: { NAME: 'value' },
      cwd: '/workspace/d',
    })
    expect(result).toMatchObject({
      exitCode: 3,
      stdout: 'in\nvalue\nd\n',
      stderr: 'bad\n',
      ended: { by: 'exit', code: 3 },
    })
  })

  it('a command line that begins with a dash is a command line', async () => {
    expect(await host.execute('run_shell', { command: '-x' })).toMatchObject({ exitCode: 127 })
  })

  it('refuses a command line that the kernel cannot take', async () => {
    await expect(host.execute('run_shell', { command: `: ${'x'.repeat(131_072)}` })).rejects.toMatchObject({
      code: 'TOO_LARGE',
    })
    await expect(host.execute('run_shell', { command: 'a\0b' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('run_command passes arguments as they are and refuses the rest before running', async () => {
    expect(await host.execute('run_command', { argv: ['echo', '$HOME *'] })).toMatchObject({ stdout: '$HOME *\n' })
    const before = host.runs.length
    await expect(host.execute('run_command', { argv: ['rm', 'x'] })).rejects.toMatchObject({
      code: 'COMMAND_NOT_ALLOWED',
    })
    expect(host.runs.length).toBe(before)
  })
})
