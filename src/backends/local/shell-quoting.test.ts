import { describe, expect, it } from 'vitest'
import { createRewriter } from './rewrite.ts'

const rewriter = createRewriter([{ guest: '/w', hosts: ["/home/it's me/$a"], reachable: true }])
const inShell = (text: string): string | undefined => rewriter.argv(['/bin/bash', '-ec', text])[2]

describe('a host path that needs quoting stays one word of a shell command', () => {
  it.each([
    ['bare', 'ls /w/x', "ls '/home/it'\\''s me/$a'/x"],
    ['in single quotes', "ls '/w/x'", "ls '/home/it'\\''s me/$a/x'"],
    ['in double quotes', 'ls "/w/x"', 'ls "/home/it\'s me/\\$a/x"'],
    ['after an escaped quote', 'echo \\" /w', "echo \\\" '/home/it'\\''s me/$a'"],
    ['in ANSI quotes', "ls $'/w'", "ls $'/home/it\\'s me/$a'"],
    [
      'in a substitution inside double quotes',
      'echo "$(cat /w/x) /w"',
      "echo \"$(cat '/home/it'\\''s me/$a'/x) /home/it's me/\\$a\"",
    ],
    ['in a raw here-document', "cat <<'E'\n/w\nE\nls /w", "cat <<'E'\n/home/it's me/$a\nE\nls '/home/it'\\''s me/$a'"],
    [
      'in a here-document',
      'cat <<-E\n/w\n\tE\nls "/w"',
      'cat <<-E\n/home/it\'s me/\\$a\n\tE\nls "/home/it\'s me/\\$a"',
    ],
    ['after a comment with a quote', "# don't\nls /w", "# don't\nls '/home/it'\\''s me/$a'"],
  ])('%s', (_where, given, wanted) => {
    expect(inShell(given)).toBe(wanted)
  })

  it('a program that is no shell gets the path as it is', () => {
    expect(rewriter.argv(['cat', '-c', '/w/x'])).toEqual(['cat', '-c', "/home/it's me/$a/x"])
  })
})
