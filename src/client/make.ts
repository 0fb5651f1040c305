// Making what lives on when its caller has gone. The caller's signal does not end the request: without its answer nobody could say
// what to take back.
import { GloveboxError } from '../errors/error.ts'
import { type Asked, requireWanted, type Server } from './server.ts'

/** Cancelled meanwhile, the caller hears so at once; what is made all the same is taken back behind it, since nobody knows of it. */
export function make<Made>(
  server: Server,
  { signal, ...asked }: Asked,
  takeBack: (made: Made) => Promise<unknown>,
): Promise<Made> {
  return new Promise((resolve, reject) => {
    requireWanted({ signal, doing: asked.doing })
    const making = server.json<Made>(asked)
    const leave = (): void => {
      making.then(takeBack).catch(() => {})
      reject(new GloveboxError('CANCELLED', `Cannot ${asked.doing}: the caller cancelled it`))
    }
    const stay = (): void => signal?.removeEventListener('abort', leave)
    signal?.addEventListener('abort', leave, { once: true })
    making.then(
      (made) => {
        stay()
        resolve(made)
      },
      (error: unknown) => {
        stay()
        reject(error instanceof Error ? error : new Error(String(error)))
      },
    )
  })
}
