// Where the server is, and with what one is let in. Both are checked once, before anything is sent.
import { GloveboxError } from '../errors/error.ts'

/** A path below the address stays: a server may live behind a proxy's prefix. */
export function addressOf(given: string | URL): string {
  const url = parsedUrl(String(given))
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw badOption('the URL is not one of http or https', 'Write it like http://127.0.0.1:4177.')
  // SECURITY: what stands in an address is kept by logs and proxies; a secret has no place there.
  // src/client/address: "an address with a user, a query or a fragment is refused"
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw badOption('the URL has a user, a query or a fragment', 'Give the bare address, and the token as `token`.')
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

function parsedUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** What cannot stand in a header would make fetch complain in words that hold it. */
export function tokenOf(token: string): string {
  if (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) return token
  throw badOption('the token is empty, or holds what no token has', '`glovebox token create` makes one.')
}

const badOption = (cause: string, hint: string): GloveboxError =>
  new GloveboxError('INVALID_INPUT', `Cannot use the server: ${cause}`, { hint })
