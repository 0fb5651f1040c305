// Finds in a file of attacks what names a backend of its own, where GLOVEBOX_ATTACK_BACKEND should: then its lanes would all attack the same one.
import { importsOf, type SourceFile } from './sources.ts'

/** Where the variable is read. What a control needs on another backend is made there too, under a name of its own. */
const chooser = 'test/attacks/host.ts'
const commandLine = 'test/attacks/command-line.ts'

const starting = /\b(?:openHost|attackScene|openAttackPool|startExecServer)\b|\bSandbox\.create\b/
export const startsSandbox = ({ code }: SourceFile): boolean => starting.test(code)

export function namesOwnBackend(file: SourceFile): readonly string[] {
  if (file.path === chooser) return []
  return faultsOf(file).map((fault) => `${file.path}: ${fault}`)
}

/** As properties, loops, arguments and flags. To compare with one is not to choose it. */
const named = [
  /\bbackends?\??\s*:[^,;}\n]*«(bwrap|docker)»/g,
  /\bbackends?\s+(?:of|=)\s+[^;)]*«(bwrap|docker)»/g,
  /[bB]ackend\w*\(\s*«(bwrap|docker)»/g,
  /«--backend»\s*,\s*«(bwrap|docker)»/g,
]

function faultsOf(file: SourceFile): readonly string[] {
  const code = file.code.replaceAll(/«(\d+)»/g, (_, index: string) => {
    const text = file.strings[Number(index)] ?? ''
    return ['bwrap', 'docker', '--backend'].includes(text) ? `«${text}»` : '«»'
  })
  const faults = named.flatMap((pattern) =>
    [...code.matchAll(pattern)].map(([, backend]) => `it names ${backend}; say whom it attacks with \`target\``),
  )
  if (file.strings.some((text) => /--backend[ =](?:bwrap|docker)\b/.test(text))) faults.push('it names one in a flag')
  for (const [call, word] of [
    ['Sandbox.create', 'target'],
    ['startExecServer', 'attacked'],
  ] as const) {
    const careless = argumentsOf(code, call).filter((words) => !words.includes(word))
    faults.push(...careless.map(() => `a ${call}() without \`${word}\` takes the backend of its own choice`))
  }
  const runsCommandLine =
    importsOf(file).some(({ target, kind }) => kind !== 'type' && target === 'test/e2e/command-line.ts') ||
    file.strings.some((text) => text.includes('glovebox.cjs'))
  const choosesForIt = file.path === commandLine || importsOf(file).some(({ target }) => target === commandLine)
  if (runsCommandLine && !choosesForIt) faults.push(`it runs the command line without ${commandLine}`)
  return faults
}

/** What stands between the brackets of each call. */
function argumentsOf(code: string, name: string): readonly string[] {
  return code
    .split(`${name}(`)
    .slice(1)
    .map((rest) => {
      let depth = 1
      let at = 0
      for (; at < rest.length && depth > 0; at += 1) depth += rest[at] === '(' ? 1 : rest[at] === ')' ? -1 : 0
      return rest.slice(0, at)
    })
}
