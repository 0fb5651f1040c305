import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openHostContext, type HostContext } from '../../test/fixtures/host-context.ts'
import type { GlobResult, GrepResult } from '../contract/sandbox.ts'

let host: HostContext
const put = (name: string, content: string | Uint8Array): void => {
  const path = join(host.workspace, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}
const grep = (input: object): Promise<GrepResult> => host.execute('grep_text', input)
const glob = (input: object): Promise<GlobResult> => host.execute('glob_entries', input)
const places = (result: GrepResult): string[] =>
  result.matches.map((match) => `${match.path}:${match.line}:${match.text}`)

beforeAll(async () => {
  host = openHostContext()
  put('src/a.ts', 'one needle\r\ntwo\nneedle three\n')
  put('src/deep/b.ts', 'Needle\n')
  put('src/deep/c.js', 'needle js\n')
  put('top.ts', 'nothing\n')
  put('.hidden/h.ts', 'needle hidden\n')
  put('node_modules/m/x.ts', 'needle module\n')
  put('big.txt', `${'x'.repeat(1024 * 1024)}needle\n`)
  put('bin1', 'needle\0')
  put('bin2', '\0 no match')
  put('latin', Buffer.from([...Buffer.from('needle '), 0xff, 0x0a]))
  put('long.min', `${'y'.repeat(5000)} longneedle ${'z'.repeat(5000)}\n`)
  put('odd/!bang.ts', 'odd\n')
  put('odd/#hash.ts', 'odd\n')
  put('odd/-dash.ts', '-e odd\n')
  put('odd/br[ack]et {x},y.ts', 'odd\n')
  put('odd/new\nline.ts', 'odd\n')
  put('odd/sp ', 'odd\n')
  mkdirSync(join(host.workspace, 'empty/nested'), { recursive: true })
  writeFileSync(join(host.workspace, '../vault/key'), 'needle secret\n')
  symlinkSync('/etc', join(host.workspace, 'escape'))
  symlinkSync('src', join(host.workspace, 'inner'))
  await host.execute('run_shell', { command: 'mkfifo fifo' })
  put('.ignore', '*\n')
  put('.rgignore', '*\n')
})
afterAll(() => host.close())

describe('grep_text', () => {
  it('finds in every text file, in order, and counts what it skipped', async () => {
    const result = await grep({ pattern: 'needle' })
    expect(places(result).filter((place) => !place.includes('long.min'))).toEqual([
      '/workspace/.hidden/h.ts:1:needle hidden',
      '/workspace/latin:1:needle \uFFFD',
      '/workspace/src/a.ts:1:one needle',
      '/workspace/src/a.ts:3:needle three',
      '/workspace/src/deep/c.js:1:needle js',
    ])
    expect(result).toMatchObject({ truncated: false, skippedLargeFiles: 1, skippedBinaryFiles: 2 })
    expect(result.matches.every((match) => match.text.length <= 500)).toBe(true)
  })

  it('never shows what a vault holds', async () => {
    expect(places(await grep({ pattern: 'secret', includeIgnored: true }))).toEqual([])
    await expect(grep({ pattern: 'secret', path: 'vault' })).rejects.toMatchObject({ code: 'VAULT' })
  })

  it('takes a file, a glob, plain text, and either case', async () => {
    expect(places(await grep({ pattern: 'needle', path: 'src/a.ts' }))).toHaveLength(2)
    expect(places(await grep({ pattern: 'needle', glob: '*.js' }))).toEqual(['/workspace/src/deep/c.js:1:needle js'])
    expect(places(await grep({ pattern: 'NEEDLE', path: 'src/deep', caseSensitive: false }))).toHaveLength(2)
    expect(places(await grep({ pattern: 'needle.', literal: true }))).toEqual([])
    expect(places(await grep({ pattern: 'needle', path: 'inner' }))).toEqual([
      '/workspace/inner/a.ts:1:one needle',
      '/workspace/inner/a.ts:3:needle three',
      '/workspace/inner/deep/c.js:1:needle js',
    ])
  })

  it('counts with a glob too, and for a named file', async () => {
    expect(await grep({ pattern: 'needle', glob: 'bi*' })).toMatchObject({
      skippedLargeFiles: 1,
      skippedBinaryFiles: 2,
    })
    expect(await grep({ pattern: 'needle', path: 'big.txt' })).toMatchObject({ matches: [], skippedLargeFiles: 1 })
    expect(await grep({ pattern: 'needle', path: 'bin1' })).toMatchObject({ matches: [], skippedBinaryFiles: 1 })
  })

  it('stops when it has enough', async () => {
    const result = await grep({ pattern: 'needle', maxResults: 2 })
    expect(result.matches).toHaveLength(2)
    expect(result.truncated).toBe(true)
    expect(await grep({ pattern: 'needle', path: 'src/a.ts', maxResults: 2 })).toMatchObject({ truncated: false })
  })

  it('looks into ignored directories only when asked', async () => {
    const found = places(await grep({ pattern: 'module', includeIgnored: true }))
    expect(found).toEqual(['/workspace/node_modules/m/x.ts:1:needle module'])
    expect(places(await grep({ pattern: 'module', path: 'node_modules' }))).toHaveLength(1)
  })

  it('reads no pattern as a flag', async () => {
    expect(places(await grep({ pattern: '-e odd' }))).toEqual(['/workspace/odd/-dash.ts:1:-e odd'])
    expect(places(await grep({ pattern: '--files' }))).toEqual([])
    expect(places(await grep({ pattern: 'odd', path: 'odd/-dash.ts' }))).toHaveLength(1)
  })

  it('tells what is wrong with a pattern', async () => {
    await expect(grep({ pattern: '(' })).rejects.toMatchObject({ code: 'INVALID_INPUT', message: /unclosed group/ })
    await expect(grep({ pattern: '(?=a)' })).rejects.toMatchObject({ code: 'INVALID_INPUT', message: /look-around/ })
    await expect(grep({ pattern: '(a{1000}){1000}{1000}' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await expect(grep({ pattern: 'a\nb' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await expect(grep({ pattern: 'a', glob: '[' })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: /error parsing glob/,
    })
    await expect(grep({ pattern: 'a', path: 'nowhere' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(grep({ pattern: 'a', path: 'fifo' })).rejects.toMatchObject({ code: 'NOT_A_FILE' })
    await expect(grep({ pattern: 'a', path: 'escape' })).rejects.toMatchObject({ code: /OUTSIDE_MOUNTS|LINK_REFUSED/ })
    await expect(grep({ pattern: 'a', maxResults: 501 })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('does not follow a symlink out of its root', async () => {
    expect(places(await grep({ pattern: 'root:' }))).toEqual([])
  })

  it('is cancelled by its caller', async () => {
    const cancel = new AbortController()
    const searching = host.execute('grep_text', { pattern: 'needle' }, cancel.signal)
    cancel.abort()
    await expect(searching).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('survives a line with a million matches within bounded memory', async () => {
    put('dense/d', 'q'.repeat(1_000_000))
    const result = await grep({ pattern: 'q', path: 'dense' })
    expect(result.matches).toHaveLength(1)
    expect(result.matches[0]?.line).toBe(1)
  })
})

describe('glob_entries', () => {
  const paths = async (input: object): Promise<readonly string[]> =>
    (await glob(input)).paths.map((path) => path.slice('/workspace/'.length))

  it('is relative to its path, and ** goes through directories', async () => {
    expect(await paths({ pattern: '*.ts' })).toEqual(['top.ts'])
    expect(await paths({ pattern: '**/*.ts', path: 'src' })).toEqual(['src/a.ts', 'src/deep/b.ts'])
    expect(await paths({ pattern: 'src/*.ts' })).toEqual(['src/a.ts'])
    expect(await paths({ pattern: './src/**' })).toEqual(['src/a.ts', 'src/deep/b.ts', 'src/deep/c.js'])
    expect(await paths({ pattern: '{src,.hidden}/*.ts' })).toEqual(['.hidden/h.ts', 'src/a.ts'])
    expect(await paths({ pattern: '*.ts', path: 'src/a.ts' })).toEqual(['src/a.ts'])
    expect(await paths({ pattern: '*.js', path: 'src/a.ts' })).toEqual([])
  })

  it('takes odd names as they are', async () => {
    expect(await paths({ pattern: '!bang.ts', path: 'odd' })).toEqual(['odd/!bang.ts'])
    expect(await paths({ pattern: '#hash.ts', path: 'odd' })).toEqual(['odd/#hash.ts'])
    expect(await paths({ pattern: '-dash.ts', path: 'odd' })).toEqual(['odd/-dash.ts'])
    expect(await paths({ pattern: 'sp ', path: 'odd' })).toEqual(['odd/sp '])
    expect(await paths({ pattern: 'new?line.ts', path: 'odd' })).toEqual(['odd/new\nline.ts'])
    expect(await paths({ pattern: 'br[[]ack*', path: 'odd' })).toEqual(['odd/br[ack]et {x},y.ts'])
  })

  it('leaves ignored directories out unless they are named or asked for', async () => {
    expect(await paths({ pattern: '**/x.ts' })).toEqual([])
    expect(await paths({ pattern: 'node_modules/**/x.ts' })).toEqual(['node_modules/m/x.ts'])
    expect(await paths({ pattern: '**/x.ts', includeIgnored: true })).toEqual(['node_modules/m/x.ts'])
  })

  it('stops at its number and gives the first in order', async () => {
    const result = await glob({ pattern: 'src/**', maxResults: 2 })
    expect(result).toMatchObject({ paths: ['/workspace/src/a.ts', '/workspace/src/deep/b.ts'], truncated: true })
    expect(await glob({ pattern: 'src/**', maxResults: 3 })).toMatchObject({ truncated: false })
  })

  it('shows directories too when asked, empty ones included', async () => {
    expect(await paths({ pattern: '**/nested', includeDirs: true })).toEqual(['empty/nested'])
    expect(await paths({ pattern: '**/nested' })).toEqual([])
    expect(await paths({ pattern: 'src/**', includeDirs: true })).toEqual([
      'src/a.ts',
      'src/deep',
      'src/deep/b.ts',
      'src/deep/c.js',
    ])
    expect(await paths({ pattern: '{s,e}*', includeDirs: true })).toEqual(['empty', 'src'])
  })

  it('refuses what is malformed', async () => {
    for (const pattern of ['/abs/*', '[', '../x', 'a\nb', 'a\0', '']) {
      await expect(glob({ pattern })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    }
  })

  it('passes over a directory that it may not enter', async () => {
    mkdirSync(join(host.workspace, 'closed/in'), { recursive: true })
    chmodSync(join(host.workspace, 'closed'), 0o000)
    expect(await paths({ pattern: 'src/*.ts' })).toEqual(['src/a.ts'])
    chmodSync(join(host.workspace, 'closed'), 0o755)
  })
})

describe('a glob matches directories as the program matches files', () => {
  const names = ['a', 'a\nb', 'b', 'ab', 'a-b', 'a.b', '[x]', '{y}', 'é', 'A']
  const pairs = names.flatMap((name) => names.slice(0, 5).map((below) => `${name}/${below}`))
  const below = async (path: string, options: object): Promise<readonly string[]> =>
    (await glob({ path, maxResults: 1000, ...options })).paths.map((each) => each.slice(`/workspace/${path}/`.length))

  // The same paths once as directories and once as files; a path cannot be a file and hold one, hence two trees.
  beforeAll(() => {
    for (const pair of pairs) mkdirSync(join(host.workspace, 'dirs', pair), { recursive: true })
    for (const name of names) put(`files-1/${name}`, '')
    for (const pair of pairs) put(`files-2/${pair}`, '')
  })

  const patterns =
    '* ? ** **/a a/* a/** **/b/* {a,b} {a,b/**} [ab] [!a] [^a] [a-b]? a?b *{.,-}b **/*b a**b [[]x] a/**/b é {a,{b,ab}}'

  it.each([...patterns.split(' '), String.raw`\[x\]`, String.raw`\{y\}`])('%s', async (pattern) => {
    const files = [...(await below('files-1', { pattern })), ...(await below('files-2', { pattern }))]
    const directories = await below('dirs', { pattern, includeDirs: true })
    expect(directories.toSorted()).toEqual(files.toSorted())
  })
})
