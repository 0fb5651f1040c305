// Paths that a file route must not follow: each is refused by every route with its own code, and none of them hangs the server. What is
// there to be refused is looked at first, so that nothing is refused only because it is missing.
import { execFileSync } from 'node:child_process'
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOf, startServer, type Answered, type ServerGround } from './server-ground.ts'

let ground: ServerGround
let sandbox: string
let workspace: string

beforeAll(async () => {
  ground = await startServer()
  sandbox = `/sandboxes/${String((await ground.call('POST', '/sandboxes')).at('id'))}`
  workspace = join(ground.state, sandbox, 'workspace')
  const command = [
    'mkfifo fifo; mkdir dir; echo text > file; ln -s /etc/passwd link; ln -s file near; ln -s fifo to-fifo',
    'python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\'socket\')"',
  ].join('; ')
  const made = await ground.call('POST', `${sandbox}/commands`, { body: { command } })
  if (made.at('exitCode') !== 0) throw new Error(made.text)
})
afterAll(async () => {
  await ground.stop()
})

const routes = ['GET', 'PUT', 'stat', 'list'] as const
const ask = (route: (typeof routes)[number], path: string): Promise<Answered> => {
  const query = `?path=${encodeURIComponent(path)}`
  if (route === 'PUT') return ground.call('PUT', `${sandbox}/files${query}`, { raw: 'root:x' })
  return ground.call('GET', `${sandbox}/files${route === 'GET' ? '' : `/${route}`}${query}`)
}
const outcomesOf = async (path: string): Promise<readonly string[]> => {
  const outcomes: string[] = []
  for (const route of routes) {
    const answer = await ask(route, path)
    expect(answer.text).not.toContain('root:x:0')
    outcomes.push(`${route} ${answer.status}${answer.status < 400 ? '' : ` ${String(codeOf(answer))}`}`)
  }
  return outcomes
}
const kindOf = async (path: string): Promise<unknown> => (await ask('stat', path)).at('kind')

/** GET, PUT, stat and list in this order. */
const everywhere = (outcome: string): readonly string[] => routes.map((route) => `${route} ${outcome}`)
const special = ['GET 400 NOT_A_FILE', 'PUT 400 NOT_A_FILE', 'stat 200', 'list 400 NOT_A_DIRECTORY']
const directory = ['GET 400 IS_A_DIRECTORY', 'PUT 400 IS_A_DIRECTORY', 'stat 200', 'list 200']

describe('a path of the file routes', () => {
  it.each([
    ['another file of the host', '/etc/passwd', everywhere('403 OUTSIDE_MOUNTS')],
    ['one that climbs out', '../../etc/passwd', everywhere('403 OUTSIDE_MOUNTS')],
    ['the root of a process', '/proc/self/root/etc/passwd', everywhere('403 OUTSIDE_MOUNTS')],
    ['a descriptor', '/dev/stdin', everywhere('403 OUTSIDE_MOUNTS')],
    ['a device of the host', '/dev/zero', everywhere('403 OUTSIDE_MOUNTS')],
    ['one with a NUL', 'a\0b', everywhere('400 INVALID_PATH')],
    ['one with a name that is too long', 'a'.repeat(256), everywhere('400 INVALID_PATH')],
    ['one of 5,000 characters', `/workspace/${'a'.repeat(4989)}`, everywhere('400 INVALID_INPUT')],
    ['one that makes the address too long', 'a'.repeat(9000), everywhere('414 URI_TOO_LONG')],
    ['an empty one', '', everywhere('400 INVALID_INPUT')],
    ['one below a file', 'file/below', everywhere('400 NOT_A_DIRECTORY')],
    ['a FIFO', 'fifo', special],
    ['a link to a FIFO', 'to-fifo', special],
    ['a socket', 'socket', special],
    ['a directory', 'dir', directory],
    ['the workspace itself', '/workspace', directory],
    ['above the workspace', '..', directory],
    ['a link out', 'link', ['GET 403 LINK_REFUSED', 'PUT 403 LINK_REFUSED', 'stat 200', 'list 403 LINK_REFUSED']],
    ['what is there', 'file', ['GET 200', 'PUT 200', 'stat 200', 'list 400 NOT_A_DIRECTORY']],
    ['a link to what is there', 'near', ['GET 200', 'PUT 200', 'stat 200', 'list 400 NOT_A_DIRECTORY']],
  ])('%s is answered by every route with its own code', async (_what, path, outcomes) => {
    expect(await outcomesOf(path)).toEqual(outcomes)
  })

  it('what is refused as no file is really there, as what it is', async () => {
    expect([lstatSync(join(workspace, 'fifo')).isFIFO(), lstatSync(join(workspace, 'socket')).isSocket()]).toEqual([
      true,
      true,
    ])
    const kinds = await Promise.all(['fifo', 'socket', 'link', 'dir', 'file'].map((path) => kindOf(path)))
    expect(kinds).toEqual(['other', 'other', 'symlink', 'directory', 'file'])
  })

  it.skipIf(getuid?.() !== 0)('a device in the workspace is no file (only root can make one)', async () => {
    execFileSync('mknod', ['-m', '666', join(workspace, 'device'), 'c', '1', '5'])
    expect(lstatSync(join(workspace, 'device')).isCharacterDevice()).toBe(true)
    expect(await outcomesOf('device')).toEqual(special)
  })

  it('above the workspace only mounts are seen', async () => {
    const { entries } = JSON.parse((await ask('list', '/')).text) as { readonly entries: readonly { name: string }[] }
    expect(entries.map(({ name }) => name)).toContain('workspace')
    expect(entries.map(({ name }) => name)).not.toContain('etc')
  })

  it('a missing one is made by PUT, and not found by the others', async () => {
    expect(await outcomesOf('missing')).toEqual([
      'GET 404 NOT_FOUND',
      'PUT 200',
      'stat 200',
      'list 400 NOT_A_DIRECTORY',
    ])
    for (const route of ['GET', 'stat', 'list'] as const)
      expect([route, codeOf(await ask(route, 'never'))]).toEqual([route, 'NOT_FOUND'])
  })
})

describe('an archive', () => {
  it('is a file like any other: nothing is taken out of it', async () => {
    // A tar whose one entry is called ../../escaped.
    const tar = Buffer.alloc(1536)
    tar.write('../../escaped', 0)
    tar.write(`0000644\0${'0000000\0'.repeat(2)}${'00000000000\0'.repeat(2)}        0`, 100)
    tar.write('ustar\u000000', 257)
    const sum = tar.subarray(0, 512).reduce((total, byte) => total + byte, 0)
    tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    const at = `${sandbox}/files?path=/workspace/archives/a.tar`
    for (const type of ['application/x-tar', 'application/zip', 'multipart/form-data; boundary=x']) {
      expect((await ground.call('PUT', at, { raw: tar, headers: { 'content-type': type } })).status).toBe(200)
      expect((await ground.call('GET', at)).bytes.equals(tar)).toBe(true)
    }
    const { entries } = JSON.parse((await ask('list', 'archives')).text) as {
      readonly entries: readonly { name: string }[]
    }
    expect(entries.map(({ name }) => name)).toEqual(['a.tar'])
    const inside = await ground.call('POST', `${sandbox}/commands`, {
      body: { command: 'tar -tPf archives/a.tar; ls ..' },
    })
    expect(inside.at('stdout')).toContain('../../escaped\n')
    expect(inside.at('stdout')).not.toMatch(/^escaped$/m)
  })
})
