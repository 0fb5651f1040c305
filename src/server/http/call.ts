// One checked request as its route sees it. A class, and not an object that is written down with getters of its own: V8 makes a hidden class
// for each of those, which only a collection of everything frees, and until then it holds the request, its answer and its connection.
import type { HttpBindings } from '@hono/node-server'
import type { BodyShare } from './body-room.ts'
import { readBytes } from './body.ts'
import type { Principal } from './principal.ts'
import { sha256Of } from './request.ts'
import type { Call } from './route.ts'

export interface CallInput extends Partial<Pick<Call, 'params' | 'query' | 'body' | 'isOfCrowd'>> {
  readonly bytes?: Uint8Array
  /** Absent where no body is taken. */
  readonly share?: BodyShare
}

export interface CallOrigin {
  readonly incoming: HttpBindings['incoming']
  readonly outgoing: HttpBindings['outgoing']
  readonly requestId: string
  readonly principal: Principal
  readonly maxRawBytes: number
}

export class RequestCall implements Call {
  readonly requestId: string
  readonly principal: Principal
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly isOfCrowd: boolean
  readonly #origin: CallOrigin
  readonly #bytes: Uint8Array
  readonly #share: BodyShare | undefined
  #gone: AbortController | undefined

  constructor(origin: CallOrigin, { params, query, body, isOfCrowd = false, bytes = noBytes, share }: CallInput) {
    this.#origin = origin
    this.#bytes = bytes
    this.#share = share
    this.requestId = origin.requestId
    this.principal = origin.principal
    this.params = params
    this.query = query
    this.body = body
    this.isOfCrowd = isOfCrowd
  }

  get bodySha256(): string {
    return sha256Of(this.#origin.incoming, this.#bytes)
  }

  get taken(): Promise<void> {
    const { outgoing } = this.#origin
    if (outgoing.destroyed) return Promise.resolve()
    return new Promise((resolve) => void outgoing.once('close', () => resolve()))
  }

  get signal(): AbortSignal {
    this.#gone ??= abortedWith(this.#origin.outgoing)
    return this.#gone.signal
  }

  // Routes take these out of it.
  readonly header = (name: string): string | undefined => {
    const value = this.#origin.incoming.headers[name]
    return Array.isArray(value) ? value[0] : value
  }

  readonly holdBodyUntil = (over: Promise<unknown>): void => this.#share?.keepUntil(over)

  readonly bytes = (): Promise<Uint8Array> => {
    if (this.#share === undefined) throw new Error('a route that takes no body asked for one')
    return readBytes(this.#origin.incoming, { maxBytes: this.#origin.maxRawBytes, share: this.#share })
  }
}

const noBytes = new Uint8Array()

function abortedWith(outgoing: CallOrigin['outgoing']): AbortController {
  const gone = new AbortController()
  if (outgoing.destroyed) gone.abort()
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) gone.abort()
  })
  return gone
}

/** Where no token is asked for. */
export const nobody: Principal = {
  tokenId: '',
  scopes: new Set(),
  project: '',
  actor: 'nobody',
  expiresAt: null,
  stillGood: async () => true,
}
