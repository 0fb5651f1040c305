// What Node's own server is told of our limits, as they are where nobody moves them.
import { get, type IncomingMessage, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { openDeliveries } from './deliveries.ts'
import { defaultLimits } from './limits.ts'
import { listen } from './listen.ts'

/** Node keeps there which server a connection belongs to. */
const serverOf = ({ socket }: IncomingMessage): Server | undefined => (socket as Socket & { server?: Server }).server

describe('the socket of a server', () => {
  it('has the default times: 15 s for headers, 120 s for a request, 20 s between two, 45 s of silence', async () => {
    let found: Server | undefined
    const listening = await listen(
      { host: '127.0.0.1', port: 0 },
      {
        onRequest: (incoming, outgoing) => {
          found = serverOf(incoming)
          outgoing.end()
        },
        onUpgrade: () => {},
        onUnreadable: () => {},
        isAnybodyThere: () => false,
        onSentAway: () => {},
        deliveries: openDeliveries(),
        onStalled: () => {},
        onFault: () => {},
      },
      defaultLimits,
    )
    try {
      await new Promise((resolve, reject) => {
        const sent = get({ host: '127.0.0.1', port: listening.port, agent: false }, (response) =>
          response.resume().on('end', resolve),
        )
        sent.on('error', reject)
      })
      expect({
        headers: found?.headersTimeout,
        request: found?.requestTimeout,
        between: found?.keepAliveTimeout,
        silence: found?.timeout,
        connections: found?.maxConnections,
      }).toEqual({ headers: 15_000, request: 120_000, between: 20_000, silence: 45_000, connections: 8192 })
    } finally {
      await listening.close()
    }
  })
})
