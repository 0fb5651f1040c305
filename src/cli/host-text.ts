// Hosts and origins as operators write them. Both are compared with headers letter by letter: one that no caller can send is refused,
// since the operator would look for the fault everywhere but here.
import { GloveboxError } from '../errors/error.ts'

const hostForm = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i
const highestPort = 65_535

/** `sandbox.example`, `sandbox.example:8443`, `[::1]:8443`. */
export function parseAllowedHost(text: string): string {
  const match = hostForm.exec(text)
  if (match !== null && Number(match[1] ?? 0) <= highestPort) return text
  throw new GloveboxError('INVALID_INPUT', `Cannot read --allow-host: "${text}" is no Host that a caller could send.`, {
    hint: 'Write the name, with the port if callers name one: sandbox.example, sandbox.example:8443 or [::1]:8443.',
  })
}

/** Pages of extensions have schemes of their own. `null` is what any page can make itself be. */
const originForm = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\*,]+$/

/** `https://console.example`, `http://localhost:5173`: as browsers write it. */
export function parseAllowedOrigin(text: string): string {
  const meant = webOriginOf(text)
  if (originForm.test(text) && (meant === undefined || meant === text)) return text
  throw new GloveboxError(
    'INVALID_INPUT',
    `Cannot read --allow-origin: "${text}" is no origin that a browser would send.`,
    { hint: `Write scheme and host, with the port if it is not the usual one: ${meant ?? 'https://console.example'}.` },
  )
}

/** Undefined where it is no address of the web. */
function webOriginOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.origin : undefined
}
