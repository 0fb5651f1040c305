import { createServer, type Server, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { leaveUnread } from './unread.ts'

let server: Server
let client: Socket
afterEach(() => {
  client.destroy()
  server.close()
})

it('nothing is read of a connection that is left unread, also when something before is answered, until it may be', async () => {
  const asked: string[] = []
  const first: ServerResponse[] = []
  let readAgain = (): void => {}
  server = createServer(({ url = '', socket }, outgoing) => {
    asked.push(url)
    if (url === '/first') first.push(outgoing)
    else outgoing.end()
    if (url === '/second') readAgain = leaveUnread(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  client = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1')
  let answers = 0
  client.on('data', (chunk: Buffer) => (answers += chunk.toString().split('HTTP/1.1 200').length - 1))
  const request = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`
  client.write(`${request('/first')}${request('/second')}`)
  await expect.poll(() => asked).toEqual(['/first', '/second'])
  client.write(request('/third'))
  first[0]?.end()
  await expect.poll(() => answers).toBe(2)
  await delay(100)
  expect(asked).toEqual(['/first', '/second'])
  readAgain()
  await expect.poll(() => asked).toEqual(['/first', '/second', '/third'])
})
