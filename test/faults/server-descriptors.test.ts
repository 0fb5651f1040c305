// A server with few descriptors, and a crowd that holds on to all that it can get. What runs has its end, written down; the crowd is
// answered or sent away, and costs no time while it is there; and when it is gone everybody is served again.
import { readFileSync, readdirSync, rmSync } from 'node:fs'
import { Agent, request as requestOf } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecMeta, ExecRecord } from '../../src/contract/exec-record.ts'
import { shell, startExecServer, type ExecServer } from '../fixtures/exec-server.ts'
import { letGo, textOf, until, untilGo } from './lasting-execs.ts'

/** With fewer than about seventy the server starts, and can begin no exec on bubblewrap. */
const descriptors = 96
const crowd = 200
/** Without what this process was given itself: a number beyond the limit cannot be handed on. */
const limited = [
  'bash',
  '-c',
  `for each in /proc/$$/fd/*; do number=\${each##*/}; if ((number > 2)); then eval "exec $number>&-"; fi; done
   exec prlimit --nofile=${descriptors} "$@"`,
  'limited',
]

interface Guest {
  readonly socket: Socket
  heard: string
  isClosed: boolean
}

function hold(port: number, words: string): Guest {
  const socket = connect(port, '127.0.0.1')
  const guest: Guest = { socket, heard: '', isClosed: false }
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => (guest.heard += chunk.toString('latin1')))
  socket.on('close', () => (guest.isClosed = true))
  socket.write(words)
  return guest
}

const statusOf = ({ heard }: Guest): string | undefined => /^HTTP\/1\.1 (\d{3}) /.exec(heard)?.[1]

/** Of all its threads, in seconds. */
function cpuOf({ pid }: ExecServer): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

describe.skipIf(process.platform !== 'linux')(`a server with ${descriptors} descriptors`, () => {
  let server: ExecServer
  beforeAll(async () => {
    server = await startExecServer({ under: limited })
  })
  afterAll(async () => {
    await server.stop()
    await server.remove()
  })
  const metaOf = ({ artifacts_dir }: ExecRecord): ExecMeta =>
    JSON.parse(textOf(server, join(artifacts_dir, 'meta.json'))) as ExecMeta

  const port = (): number => Number(new URL(server.url).port)
  const openDescriptors = (): number => readdirSync(`/proc/${server.pid}/fd`).length

  it.each(['streams', 'silent connections'])(
    `${crowd} %s are answered or sent away; what runs has its end, and then everybody is served`,
    async (kind) => {
      rmSync(join(server.workspace, 'projects/demo/work/go'), { force: true })
      const exec = await server.begin(shell(`echo begun; ${untilGo}; echo over; exit 3`))
      await until(() => textOf(server, exec.stdout_path) === 'begun\n')
      const here = connectedCaller(server)
      expect((await here.ask('GET', '/healthz')).status).toBe(200)
      const head = `host: 127.0.0.1:${port()}\r\nauthorization: Bearer ${server.token}`
      const request = `GET /sandbox/execs/${exec.exec_id}/stream HTTP/1.1\r\n${head}\r\n\r\n`
      const guests = Array.from({ length: crowd }, () => hold(port(), kind === 'streams' ? request : ''))
      const open = (): readonly Guest[] => guests.filter(({ isClosed }) => !isClosed)
      try {
        // As many stay as there is room for, and of those that asked each has an answer.
        await expect.poll(() => open().length).toBeLessThan(descriptors)
        if (kind === 'streams') await expect.poll(() => open().filter((each) => statusOf(each) !== '200')).toEqual([])
        expect(open().length).toBeGreaterThan(0)
        const told = guests.filter((each) => statusOf(each) === '503')
        expect(told.length).toBeGreaterThan(0)
        for (const { heard } of told) expect(heard).toMatch(/^retry-after: \d+\r$/im)
        for (const { heard } of told) expect(heard).toContain('"code":"TOO_MANY_CONNECTIONS"')
        expect(openDescriptors()).toBeLessThan(descriptors - 16)

        const before = cpuOf(server)
        await delay(2000)
        expect(cpuOf(server) - before).toBeLessThan(1)

        // Whoever is in is served, and with all that it needs.
        const beside = await here.ask('POST', '/sandbox/execs', shell('echo beside'))
        expect(beside).toMatchObject({ status: 200, json: { status: 'SUCCEEDED' } })
        letGo(server)
        await expect.poll(() => metaOf(exec)).toMatchObject({ status: 'FAILED', exit_code: 3 })
        expect(textOf(server, exec.stdout_path)).toBe('begun\nover\n')
      } finally {
        for (const { socket } of guests) socket.destroy()
        here.close()
      }
      await expect.poll(async () => (await askOnce(server, '/readyz')) ?? 'sent away').toBe(200)
      expect(await server.exec(shell('echo after'))).toMatchObject({ status: 'SUCCEEDED' })
      expect(server.child.exitCode).toBe(null)
      const lines = server
        .logs()
        .split('\n')
        .filter((line) => line.includes('connections were sent away'))
      expect(lines.length).toBeGreaterThan(0)
      expect(lines.length).toBeLessThan(crowd / 10)
    },
  )
})

interface Heard {
  readonly status: number | undefined
  readonly json: unknown
}

/** One connection, kept open. */
function connectedCaller({ url, token }: ExecServer) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (method: string, path: string, body?: unknown): Promise<Heard> =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      }
      const asking = requestOf(`${url}${path}`, { method, agent, headers }, (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.once('end', () => resolve({ status: response.statusCode, json: JSON.parse(text) as unknown }))
      })
      asking.once('error', reject)
      asking.end(body === undefined ? undefined : JSON.stringify(body))
    })
  return { ask, close: () => agent.destroy() }
}

/** Undefined where the connection is closed without an answer. */
async function askOnce({ url }: ExecServer, path: string): Promise<number | undefined> {
  try {
    return (await fetch(`${url}${path}`)).status
  } catch {
    return undefined
  }
}
