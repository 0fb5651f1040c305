// Paths on `GET /sandbox/execs/{id}/artifacts/{path}`: each is answered with the one code that docs/callers.md has for it, while the exec
// runs and when it has ended, and none with a byte of the host.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { until } from './command-line.ts'
import { sendRaw, statusOf } from './server-wire.ts'

const ofTheHost = 'a-secret-of-the-host'
let server: ExecServer
/** Each has the same files. One goes on until the end. */
let execs: Readonly<Record<'running' | 'ended', string>>

beforeAll(async () => {
  server = await startExecServer()
  writeFileSync(join(server.place, 'secret'), ofTheHost)
  // Links are made again and again elsewhere; here it is enough that they are there.
  const leave = [
    'cd /workspace/artifacts; mkdir -p dir/deep; echo left >file; echo deep >dir/deep/file',
    `ln -s ${join(server.place, 'secret')} link; ln -s file inner; ln -s ${server.place} out; ln -s dir way; ln -s /dev/zero zero`,
    'ln -s nothing dangling; ln -s ../meta.json up; ln file twice; mkfifo fifo',
    `python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'`,
  ].join('\n')
  const ended = await server.exec(shell(leave))
  if (ended.exit_code !== 0) throw new Error(JSON.stringify(ended))
  const running = await server.begin(shell(`${leave}\ntouch /workspace/work/begun; sleep 600`))
  const work = join(server.workspace, 'projects/demo/work')
  await until('all of it is there', () => existsSync(join(work, 'begun')))
  execs = { running: running.exec_id, ended: ended.exec_id }
})
afterAll(() => server.remove())

const base = (id: string): string => `/sandbox/execs/${id}/artifacts`

interface Told {
  readonly status: number
  readonly code: unknown
  readonly text: string
}

/** As it is written: whoever speaks HTTP takes `..` out of an address first. */
async function ask(path: string): Promise<Told> {
  const { contract, token, url } = server
  const { host, port } = new URL(url)
  const headers = [`host: ${host}`, `authorization: Bearer ${token}`, 'connection: close']
  const text = await sendRaw(
    { port: Number(port), contract },
    `GET ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`,
  )
  return { status: statusOf(text), code: /"code":"([A-Z_]+)"/.exec(text)?.[1], text }
}

describe.each(['running', 'ended'] as const)('of an exec that is %s', (state) => {
  it.each([
    ['a link to a file of the host', 'link', 403, 'LINK_REFUSED'],
    ['a link to a file beside it', 'inner', 403, 'LINK_REFUSED'],
    ['a link to a device', 'zero', 403, 'LINK_REFUSED'],
    ['a link to nothing', 'dangling', 403, 'LINK_REFUSED'],
    ['a link to a record', 'up', 403, 'LINK_REFUSED'],
    ['a link to a directory', 'out', 403, 'LINK_REFUSED'],
    ['a path through a link out', 'out/secret', 403, 'LINK_REFUSED'],
    ['a path through a link to a directory beside it', 'way/deep/file', 403, 'LINK_REFUSED'],
    ['a file with two names', 'twice', 403, 'LINK_REFUSED'],
    ['a FIFO', 'fifo', 400, 'NOT_A_FILE'],
    ['a socket', 'socket', 400, 'NOT_A_FILE'],
    ['a directory', 'dir', 400, 'IS_A_DIRECTORY'],
    ['a directory, with a slash', 'dir%2f', 400, 'INVALID_PATH'],
    ['what would lie in a file', 'dir/deep/file/x', 400, 'NOT_A_DIRECTORY'],
    ['what is not there', 'none', 404, 'NOT_FOUND'],
    // An address without `..`, which is that of another path, and of none here.
    ['.. as it is', '../secret', 404, 'NOT_FOUND'],
    ['.. as an escape', '%2e%2e/meta.json', 404, 'NOT_FOUND'],
    ['.. up to another exec', '%2e%2e/%2e%2e/none', 400, 'INVALID_INPUT'],
    ['.. in one part', '..%2fmeta.json', 400, 'INVALID_PATH'],
    ['.. behind a directory', 'dir%2f..%2f..%2fmeta.json', 400, 'INVALID_PATH'],
    ['. in one part', '.%2ffile', 400, 'INVALID_PATH'],
    ['a path that is absolute', '%2fetc%2fpasswd', 400, 'INVALID_PATH'],
    ['a path that is absolute, as it is', '/etc/passwd', 400, 'INVALID_PATH'],
    ['a NUL', 'fi%00le', 400, 'INVALID_PATH'],
    // Names like any other.
    ['an escape that is none', '%zz', 404, 'NOT_FOUND'],
    ['bytes that are no UTF-8', '%ff', 404, 'NOT_FOUND'],
    ['a name of 256 bytes', 'x'.repeat(256), 400, 'INVALID_PATH'],
    ['5,000 characters', 'x'.repeat(5000), 400, 'INVALID_INPUT'],
    ['5,000 characters in parts', 'xxxx/'.repeat(999) + 'xxxxx', 400, 'INVALID_INPUT'],
    ['nothing', '', 404, 'NOT_FOUND'],
  ])('%s is answered with its code', async (_what, path, status, code) => {
    const answer = await ask(`${base(execs[state])}/${path}`)
    expect([answer.status, answer.code]).toEqual([status, code])
    expect(answer.text).not.toContain(ofTheHost)
    expect(answer.text).not.toContain(server.place)
  })

  it('a file of its own is served', async () => {
    const answer = await server.ask('GET', `${base(execs[state])}/dir/deep/file`)
    expect([answer.status, answer.text]).toEqual([200, 'deep\n'])
  })
})

it('an address of 64 KiB is refused before it is looked at', async () => {
  const answer = await ask(`${base(execs.ended)}/${'x'.repeat(64 * 1024)}`)
  expect([answer.status, answer.code]).toEqual([414, 'URI_TOO_LONG'])
})
