// Somebody who uses a server while another one floods it, in a process of its own: with kept connections, asking for what is loaded, one
// request every few milliseconds whether the one before is answered or not. Reads `begin` and `end`, and prints what was
// measured in between as a line of JSON: when each request was sent and answered, on the clock that all processes share.
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sample } from './figures.ts'
import { monotonicMs } from './machine.ts'

const [, , url = '', token = '', everyMs = '10'] = process.argv
const agent = new Agent({ keepAlive: true, maxSockets: 64 })

interface Answer {
  readonly status: number
  readonly text: string
}

function ask(method: string, path: string, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    }
    const sent = request(`${url}${path}`, { method, headers, agent }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
    })
    // A server may close an idle connection in the very moment in which it is used again.
    sent.on('error', (error) => (sent.reusedSocket ? resolve(ask(method, path, body)) : reject(error)))
    sent.end(body)
  })
}

async function sample(path: string): Promise<Sample> {
  const from = monotonicMs()
  const { status } = await ask('GET', path)
  if (status !== 200) throw new Error(`the other token was answered ${status}`)
  return { from, to: monotonicMs() }
}

const made = await ask('POST', '/sandboxes', '{"project":"other"}')
const path = `/sandboxes/${String((JSON.parse(made.text) as { id?: string }).id)}`
// Whoever asks all the time has connections. Not more than its share.
for (let each = 0; each < 20; each += 1) {
  await Promise.all(Array.from({ length: 32 }, () => sample(path)))
  await delay(100)
}
process.stdout.write('ready\n')

/** Until it is told to stop, and its last request has been sent: with one of before beside it, each would wait for the other's. */
async function measure(until: AbortSignal, samples: Promise<Sample>[]): Promise<void> {
  while (!until.aborted) {
    samples.push(sample(path))
    await delay(Number(everyMs))
  }
}

let samples: Promise<Sample>[] = []
let stop = new AbortController()
let measuring = Promise.resolve()
for await (const word of createInterface({ input: process.stdin })) {
  if (word === 'begin') {
    samples = []
    stop = new AbortController()
    measuring = measure(stop.signal, samples)
  } else {
    stop.abort()
    await measuring
    process.stdout.write(`${JSON.stringify(await Promise.all(samples))}\n`)
  }
}
process.exit(0)
