// What a request for a WebSocket must say (RFC 6455), asked before it is recorded: what `ws` does not understand it would answer itself, in
// another shape than ours, and behind a record of what never began.
import type { IncomingMessage } from 'node:http'
import { GloveboxError } from '../../errors/error.ts'

/** Of the protocol's four headers two are asked for by whoever tells that this is one: Connection and Upgrade. */
export function requireHandshake(incoming: IncomingMessage): void {
  const { method, headers } = incoming
  if (method !== 'GET') throw malformed('it is no GET')
  if (hasBody(incoming)) throw malformed('it has a body')
  if (headers['sec-websocket-version'] !== '13') throw malformed('its Sec-WebSocket-Version is not 13')
  if (!/^[A-Za-z0-9+/]{22}==$/.test(headers['sec-websocket-key'] ?? ''))
    throw malformed('its Sec-WebSocket-Key is not 16 bytes in base64')
  const offered = headers['sec-websocket-protocol']?.split(',').map((name) => name.trim()) ?? []
  if (new Set(offered).size < offered.length || !offered.every((name) => token.test(name)))
    throw malformed('its Sec-WebSocket-Protocol is no list of names')
}

/** RFC 9110. */
const token = /^[!#$%&'*+.^_`|~A-Za-z0-9-]+$/

/** Node hands what offers another protocol over without it. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const malformed = (why: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot open the WebSocket: ${why}`, {
    hint: 'Ask as RFC 6455 says, version 13.',
  })
