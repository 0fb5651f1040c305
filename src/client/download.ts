// A file as it comes. When the connection breaks, the rest is asked for by its range, and joined only to the same content: the
// server's tag tells.
import { GloveboxError } from '../errors/error.ts'
import { pause } from './pause.ts'
import { pauseMs } from './retry.ts'
import { type Asked, type Attempt, requireWanted, type Server } from './server.ts'

export type Downloaded = Pick<Asked, 'path' | 'query' | 'doing' | 'signal'>

export async function* download(server: Server, asked: Downloaded): AsyncGenerator<Uint8Array, void> {
  let tag: string | undefined
  let offset = 0
  let failures = 0
  for (;;) {
    requireWanted(asked)
    const opened = await openFrom(server, asked, { offset, tag })
    let broken = 'value' in opened ? undefined : opened
    if ('value' in opened) {
      tag = tagOf(opened.value)
      const reader = (opened.value.body as ReadableStream<Uint8Array> | null)?.getReader()
      try {
        for (let got = await reader?.read(); got?.done === false; got = await reader?.read()) {
          offset += got.value.length
          failures = 0
          yield got.value
        }
        return
      } catch (error) {
        broken = cutOff(asked.doing, error)
      } finally {
        void reader?.cancel().catch(() => {})
      }
    }
    requireWanted(asked)
    const wait = pauseMs(broken?.failure ?? {}, failures, server.retry, Math.random())
    if (broken !== undefined && wait === undefined) throw broken.error
    failures += 1
    await pause(wait ?? 0, asked.signal)
  }
}

interface Place {
  readonly offset: number
  readonly tag: string | undefined
}

async function openFrom(server: Server, asked: Downloaded, { offset, tag }: Place): Promise<Attempt<Response>> {
  const headers = offset === 0 ? {} : { range: `bytes=${offset}-` }
  const opened = await server.open({ ...asked, method: 'GET', headers, accept: '*/*' })
  if (offset === 0 || 'error' in opened) return opened
  const isSame = opened.value.status === 206 && tag !== undefined && tagOf(opened.value) === tag
  if (isSame) return opened
  throw new GloveboxError('CONFLICT', `Cannot ${asked.doing}: it changed while it was read`, { hint: 'Read it again.' })
}

const tagOf = ({ headers }: Response): string | undefined => headers.get('etag') ?? undefined

const cutOff = (doing: string, cause: unknown) => ({
  error: new GloveboxError('SERVER_UNREACHABLE', `Cannot ${doing}: the connection broke, and could not be made again`, {
    cause,
  }),
  failure: {},
})
