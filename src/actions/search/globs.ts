// Patterns as arguments of the search program, which reads them by the rules of ignore files: `!` negates, `#`
// comments, trailing blanks vanish, and a pattern without a slash fits at any depth. None of that is meant here.
import { GloveboxError } from '../../errors/error.ts'

/** A pattern that is relative to the searched directory, ready for `--glob=`. */
export function globArgument(pattern: string): string {
  const plain = pattern.replace(/^(?:\.\/+)+/, '')
  refuseMalformed(plain, pattern)
  const led = /^[!#]/.test(plain) ? `\\${plain}` : plain
  return led.replace(/\s+$/u, (blanks) => Array.from(blanks, (blank) => `[${blank}]`).join(''))
}

/** Without a slash the pattern names entries directly inside; only a depth limit holds the program to that. */
export const isDirectlyInside = (glob: string): boolean => !glob.includes('/') && glob !== '**'

export const ignoreArguments = (names: readonly string[]): readonly string[] =>
  names.map((name) => `--glob=!${escapeGlob(name)}/`)

/** One path below the searched directory, left out with all that it holds. The slash ties it to that place. */
export const excludeArgument = (relative: string): string => `--glob=!${escapeGlob(relative)}/**`

const escapeGlob = (text: string): string => text.replaceAll(/[\\*?[\]{}!#,]/g, String.raw`\$&`)

function refuseMalformed(plain: string, pattern: string): void {
  const refuse = (cause: string, hint: string): never => {
    throw new GloveboxError('INVALID_INPUT', `Cannot match ${JSON.stringify(pattern.slice(0, 200))}: ${cause}`, {
      hint,
    })
  }
  if (/[\0\n\r]/.test(pattern)) refuse('a pattern has no NUL and no line break', 'Use ? for an odd character.')
  if (plain === '') refuse('the pattern is empty', 'Use ** for everything.')
  if (plain.startsWith('/'))
    refuse('the pattern is absolute', 'Give the directory as path, and a pattern relative to it.')
  if (plain.endsWith('/')) refuse('the pattern ends with a slash', 'Use dir/** for all that lies below dir.')
  if (plain.split('/').includes('..')) refuse('the pattern goes up with ..', 'Give the directory above as path.')
}
