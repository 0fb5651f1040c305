// The image that containers are made of: the one that its name meant when it was looked at, by its id. The name may be given to another
// one at any time, and what nobody has looked at is not run. Where the one that was looked at is gone, since it was built anew and the old
// one was pruned, what its name means by then is looked at and takes its place.
import type { Plan } from '../../contract/backend.ts'
import { GloveboxError } from '../../errors/error.ts'
import type { DockerCli } from './cli.ts'
import { isOfNoImage, lookAtImage, noImage, unreachable, type DockerFacts, type Missing } from './facts.ts'

export interface HeldImage {
  /** With the image as it was last looked at. */
  facts(): DockerFacts
  /** As far as is known: nobody is asked. */
  isGone(): boolean
  /** As it was within the last seconds. Where the daemon does not answer, it is as it was before. */
  isThere(): Promise<boolean>
  /** Why there is none now; what was just seen is believed to be there. */
  missing(): Promise<Missing | undefined>
  /** BACKEND_UNAVAILABLE where there is none. The daemon is asked only where the image is known to be gone. */
  require(): Promise<void>
  /**
   * Docker said why it could not make a container: was it for want of this image, or of one that had its name before? If it was this one,
   * it is known to be gone from now on.
   */
  isWhy(said: string): boolean
}

/** A plan was made for one image, and is carried out with no other: what its name means by now is another matter. */
export const factsFor = ({ image }: Pick<Plan, 'image'>, facts: DockerFacts): DockerFacts =>
  image === undefined ? facts : { ...facts, imageId: image.id }

/** Anybody may ask whether it is there, as often as he likes. */
const freshMs = 3000

export function holdImage(cli: DockerCli, opened: DockerFacts, now: () => number = () => performance.now()): HeldImage {
  let facts = opened
  const ids = new Set([opened.imageId])
  let isGone = false
  let knownAt = now()
  let looking: Promise<Missing | undefined> | undefined

  const lookAtIt = async (): Promise<void> => {
    const { code, stderr } = await lookAtImage(cli, facts.imageId)
    if (code === 0) knownAt = now()
    else if (isOfNoImage(stderr)) isGone = true
  }
  const lookForAnother = async (): Promise<Missing | undefined> => {
    const { code, stdout, stderr } = await lookAtImage(cli, facts.image)
    knownAt = now()
    if (code !== 0) return isOfNoImage(stderr) ? noImage(facts.image, stderr) : unreachable(stderr)
    facts = { ...facts, imageId: stdout.trim() }
    ids.add(facts.imageId)
    isGone = false
    return undefined
  }
  const look = async (): Promise<Missing | undefined> => {
    if (!isGone) await lookAtIt()
    return isGone ? lookForAnother() : undefined
  }
  const lookOnce = (): Promise<Missing | undefined> => {
    looking ??= look().finally(() => (looking = undefined))
    return looking
  }
  const isFresh = (): boolean => now() - knownAt < freshMs
  return {
    facts: () => facts,
    isGone: () => isGone,
    isThere: async () => (isFresh() ? !isGone : (await lookOnce()) === undefined),
    missing: async () => (!isGone && isFresh() ? undefined : lookOnce()),
    async require() {
      const missing = isGone ? await lookOnce() : undefined
      if (missing !== undefined)
        throw new GloveboxError('BACKEND_UNAVAILABLE', `Cannot use docker: ${missing.reason}`, { hint: missing.fix })
    },
    isWhy(said) {
      const missing = isOfNoImage(said) ? idIn(said) : undefined
      if (missing === undefined || !ids.has(missing)) return false
      if (missing !== facts.imageId) return true
      isGone = true
      // Another one may have its name already.
      knownAt = -Infinity
      return true
    },
  }
}

/** Containers are made of an image by its id, so that this is what docker misses. */
const idIn = (said: string): string | undefined => /sha256:[0-9a-f]{64}/.exec(said)?.[0]

const tryAgain = 'Nothing has run. Try again: if there is another image of that name by now, it is used from now on.'

export const imageGone = ({ image }: DockerFacts): GloveboxError =>
  new GloveboxError('BACKEND_UNAVAILABLE', `Cannot use docker: the image that ${image} meant was removed`, {
    hint: tryAgain,
  })

/** Of a command that was found again by a backend with another image, which is not to be taken for gone. */
export const anotherImageGone = (): GloveboxError =>
  new GloveboxError('BACKEND_UNAVAILABLE', 'Cannot use docker: the image of the command was removed', {
    hint: tryAgain,
  })
