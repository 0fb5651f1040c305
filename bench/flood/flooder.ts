// One token that asks for as much as it can, in a process of its own: 10,000 GETs in each second, waiting for answers or not, or 1,000
// creates at once. It speaks HTTP by hand, so that it costs the machine little. Reads the names of floods, and prints what came back of
// each as a line of JSON.
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'

const [, , address = '', token = '', seconds = '1'] = process.argv
const { hostname, port, host } = new URL(address)

let told: Record<string, number> = {}
let made: string[] = []
const count = (what: string): void => void (told[what] = (told[what] ?? 0) + 1)

interface Line {
  readonly socket: Socket
  isOver: boolean
}

function open(onAnswer: (line: Line) => void): Promise<Line> {
  const socket = connect(Number(port), hostname)
  const line: Line = { socket, isOver: false }
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    for (;;) {
      const head = text.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(text.slice(0, head))?.[1] ?? 0)
      if (head < 0 || text.length < head + 4 + length) return
      const status = text.slice(9, 12)
      count(status)
      if (status === '201') made.push(/"id":"(sbx_\w+)"/.exec(text)?.[1] ?? '')
      text = text.slice(head + 4 + length)
      onAnswer(line)
    }
  })
  socket.on('error', (error: NodeJS.ErrnoException) => count(error.code ?? error.message))
  socket.on('close', () => (line.isOver = true))
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(line))
    socket.once('close', () => resolve(line))
  })
}

const common = `host: ${host}\r\nauthorization: Bearer ${token}\r\n`
const oneGet = `GET /sandboxes HTTP/1.1\r\n${common}\r\n`
function send(line: Line, text: string): void {
  if (line.isOver) return
  count('sent')
  line.socket.write(text)
}

/** Each line asks again as soon as it is answered, on a new connection where the server has ended one, and all together ten thousand times in
 * a second. */
async function gets(): Promise<void> {
  const idle: Line[] = []
  const lines = new Set<Line>()
  const add = async (): Promise<void> => {
    const line = await open((answered) => void idle.push(answered))
    lines.add(line)
    idle.push(line)
  }
  await Promise.all(Array.from({ length: 200 }, add))
  const endsAt = performance.now() + Number(seconds) * 1000
  while (performance.now() < endsAt) {
    for (const line of idle.splice(0, 10)) send(line, oneGet)
    for (const line of lines)
      if (line.isOver) {
        lines.delete(line)
        void add()
      }
    await delay(1)
  }
  for (const { socket } of lines) socket.destroy()
}

/** Ten thousand in each second, whether those before them are answered or not, and on a new connection where one has ended. */
async function pipelined(): Promise<void> {
  const lines = await Promise.all(Array.from({ length: 200 }, () => open(() => {})))
  const opening = new Set<number>()
  const renew = async (index: number): Promise<void> => {
    opening.add(index)
    lines[index] = await open(() => {})
    opening.delete(index)
  }
  const begunAt = performance.now()
  for (let due = 0, each = 0; due < Number(seconds) * 10_000; due = (performance.now() - begunAt) * 10) {
    for (; each < due; each += 1) {
      const index = each % lines.length
      const line = lines[index] as Line
      if (line.isOver && !opening.has(index)) void renew(index)
      send(line, oneGet)
    }
    await delay(1)
  }
  for (const { socket } of lines) socket.destroy()
}

async function creates(): Promise<void> {
  const body = '{"project":"flood"}'
  const text = `POST /sandboxes HTTP/1.1\r\n${common}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  await Promise.all(
    Array.from({ length: 1000 }, async () => {
      const answered = new Promise<void>((resolve) => {
        void open((line) => {
          line.socket.destroy()
          resolve()
        }).then((line) => {
          line.socket.once('close', () => resolve())
          send(line, text)
        })
      })
      await answered
    }),
  )
}

const floods = { gets, pipelined, creates } as const
for await (const kind of createInterface({ input: process.stdin })) {
  told = {}
  made = []
  const begun = performance.now()
  await floods[kind as keyof typeof floods]()
  process.stdout.write(`${JSON.stringify({ told, made, ms: Math.round(performance.now() - begun) })}\n`)
}
process.exit(0)
