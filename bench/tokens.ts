// How long each kind of refusal takes: whoever is refused must not learn from it what was wrong with the token.
import { createHash, randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openStore } from '../src/store/open.ts'
import { interleave, round, type Contestant } from './interleave.ts'
import { openPlace, type Place } from './place.ts'
import { atMost, type Result } from './result.ts'
import { serve, type Served } from './served.ts'

const rounds = 400
const newSecret = (): string => `gbx_${randomBytes(32).toString('base64url')}`

export async function tokenBenches(): Promise<readonly Result[]> {
  using place = openPlace()
  // The bench is one address, and asks faster than one address may.
  const limits = ['--limit', 'requestsPerSecond=100000', '--limit', 'burst=100000']
  await using served = await serve(place, 'asked', limits)
  /** Whoever makes tokens up makes a new one each time. */
  const madeUp = { prefix: () => `Bearer ghp_${newSecret().slice(4)}`, unknown: () => `Bearer ${newSecret()}` }
  const authorizations = {
    none: undefined,
    scheme: `Basic ${served.token}`,
    strange: `Bearer ${served.token}%00`,
    long: `Bearer ${'a'.repeat(10_000)}`,
    ...madeUp,
    revoked: `Bearer ${await revoked(served)}`,
    expired: `Bearer ${await expired(served)}`,
    early: `Bearer ${await notYet(place)}`,
  }
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const contestants = Object.fromEntries(
    Object.entries(authorizations).map(([name, authorization]) => [name, asking(served, agent, authorization)]),
  ) as Record<keyof typeof authorizations, Contestant>
  const times = await interleave(contestants, rounds, 50)
  const medians = Object.values(times).map(({ medianMs }) => medianMs)
  return [
    atMost({
      name: 'slowest ÷ fastest kind of refusal of a token',
      promise: '≤ 1.3',
      measured: round(Math.max(...medians) / Math.min(...medians)),
      limit: 1.3,
      unit: 'ratio',
      figures: times,
    }),
  ]
}

const asking =
  ({ url }: Served, agent: Agent, shown: string | (() => string) | undefined): Contestant =>
  () =>
    new Promise((resolve, reject) => {
      const authorization = typeof shown === 'function' ? shown() : shown
      const headers = authorization === undefined ? {} : { authorization }
      const sent = request(`${url}/sandboxes`, { headers, agent }, (response) => {
        response.resume()
        response.on('end', () =>
          response.statusCode === 401 ? resolve() : reject(new Error(`answered ${response.statusCode}`)),
        )
      })
      sent.on('error', reject)
      sent.end()
    })

async function made({ url, token }: Served, more: object): Promise<{ readonly id: string; readonly token: string }> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'bench', scopes: ['read'], ...more })
  const response = await fetch(`${url}/tokens`, { method: 'POST', headers, body })
  if (response.status !== 201) throw new Error(await response.text())
  return (await response.json()) as { readonly id: string; readonly token: string }
}

async function revoked(served: Served): Promise<string> {
  const { id, token } = await made(served, {})
  const headers = { authorization: `Bearer ${served.token}` }
  await fetch(`${served.url}/tokens/${id}`, { method: 'DELETE', headers })
  return token
}

async function expired(served: Served): Promise<string> {
  const { token } = await made(served, { expires_in_seconds: 1 })
  await delay(1500)
  return token
}

/** No request makes such a one yet; the store has a place for it. */
async function notYet(place: Place): Promise<string> {
  const secret = newSecret()
  const store = await openStore({ url: join(place.path, 'asked', 'state', 'glovebox.db') })
  try {
    await store.tokens.insert({
      id: `tok_${'0'.repeat(32)}`,
      name: 'later',
      hash: createHash('sha256').update(secret).digest('hex'),
      scopes: ['read'],
      project: null,
      not_before: '2100-01-01T00:00:00.000Z',
      expires_at: null,
      revoked_at: null,
      created_at: new Date().toISOString(),
      created_by: null,
    })
  } finally {
    await store.close()
  }
  return secret
}
