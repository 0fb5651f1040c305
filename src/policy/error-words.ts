// Finds what an error message speaks about: the paths and the host name that stand beside the complaint.
// Programs write these in their own ways, so this only proposes; judge-path.ts decides what a path means.

const maxCandidates = 16
const maxPathLength = 1024

/** Text in quotes, else a run without spaces. No class holds its own opening mark, so no start is scanned twice. */
const words = /'([^'\n]{1,1024})'|"([^"\n]{1,1024})"|`([^`'\n]{1,1024})[`']|‘([^‘’\n]{1,1024})’|([^\s'"`‘’]{1,1024})/g

/** Made when it is needed: most commands complain of nothing, and the pattern takes long to compile. */
const hasControl = (text: string): boolean => /[\p{Cc}\p{Cf}\u2028\u2029]/u.test(text)

interface Word {
  readonly text: string
  readonly isQuoted: boolean
}

function wordsOf(text: string): readonly Word[] {
  return Array.from(text.matchAll(words), (match) => {
    const run = match[5]
    const quoted = match[1] ?? match[2] ?? match[3] ?? match[4] ?? ''
    return run === undefined ? { text: quoted, isQuoted: true } : { text: bare(run), isQuoted: false }
  }).filter((word) => word.text !== '')
}

/** `bash: line 1: .git/hooks/x:` leaves a colon on the word before the complaint. */
const bare = (word: string): string => word.replace(/^[([<,;]{1,4}/, '').replace(/[)\]>,:;.]{1,4}$/, '')

const looksLikePath = ({ text, isQuoted }: Word): boolean => isQuoted || text.startsWith('/')
/** `[Errno 30]` and `EROFS:` stand where other programs put the path. */
const isErrorNumber = (text: string): boolean => /^(?:\d+|E[A-Z]{2,12})$/.test(text)

/**
 * Likely paths, likeliest first. Python and Node write the path after the complaint and in quotes; shells and git write
 * it right before, bare; whatever else is quoted or absolute comes last.
 */
export function pathsNear(before: string, after: string): readonly string[] {
  const earlier = wordsOf(before).slice(-maxCandidates).toReversed()
  const later = wordsOf(after).slice(0, maxCandidates)
  const likely = [...later.filter(looksLikePath), ...earlier.slice(0, 1), ...earlier.slice(1).filter(looksLikePath)]
  // SECURITY: a path with control or invisible characters could paint over a terminal or a log.
  // test/attacks/output: "a denial carries no control characters"
  return likely
    .map(({ text }) => text)
    .filter((text) => text.length <= maxPathLength && !hasControl(text) && !isErrorNumber(text))
}

const hostName = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,62})(?:\.[a-z0-9](?:[a-z0-9-]{0,62}))+$/i

function hostOf(word: string | undefined): string | undefined {
  if (word === undefined) return undefined
  const authority = /^[a-z][a-z0-9+.-]{0,20}:\/\/([^/?#@\s]{1,260})/i.exec(word)?.[1] ?? word
  const host = authority.replace(/:\d{1,5}$/, '')
  return hostName.test(host) ? host.toLowerCase() : undefined
}

/** The word after the complaint or the one before it; else any address in the message. */
export function hostNear(before: string, after: string): string | undefined {
  const earlier = wordsOf(before)
    .slice(-maxCandidates)
    .map(({ text }) => text)
  const later = wordsOf(after)
    .slice(0, maxCandidates)
    .map(({ text }) => text)
  const addresses = [...earlier, ...later].filter((word) => word.includes('://'))
  return [later[0], earlier.at(-1), ...addresses].map(hostOf).find((host) => host !== undefined)
}
