// Systems without Linux' /proc. A walk by checked path strings would be weaker than what callers rely
// on, so there is none: file access is refused until the system has a walk of its own.
import { GloveboxError } from '../errors/error.ts'

export const refuseHere = (): GloveboxError =>
  new GloveboxError('BACKEND_UNAVAILABLE', 'Cannot reach files of a sandbox: this system has no walk by descriptor', {
    hint:
      process.platform === 'linux'
        ? 'Mount /proc (mount -t proc proc /proc).'
        : 'Use Linux, or a backend with its own file access.',
  })
