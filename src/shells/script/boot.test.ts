import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bootCommand, runLines } from './boot.ts'
import { inOneLine } from './in-one-line.ts'

/** How a POSIX shell reads the words between its quotes, with the one variable that stands for a line break. */
const unquoted = (line: string): string =>
  line
    .slice('eval "$GLOVEBOX_SHELL_ON"'.length)
    .replaceAll(/'([^']*)'|\\'|"\$GLOVEBOX_SHELL_NL"/g, (whole, plain: string | undefined) =>
      plain !== undefined ? plain : whole === "\\'" ? "'" : '\n',
    )

describe('what a shell is started with and told', () => {
  it('a command is two lines, whatever it holds, and reads back as it was', () => {
    const text = fc.string({ unit: fc.constantFrom("'", '"', '\\', '\n', '$', '`', 'a', ' ', '!', '\r', 'ü') })
    fc.assert(
      fc.property(text, (command) => {
        const [line = '', mark, rest, ...more] = runLines(command, '=m').split('\n')
        expect([mark, rest, more]).toEqual(['=m', '', []])
        expect(unquoted(line)).toBe(command)
      }),
    )
  })

  it('text in one line holds no line break, and says the same to bash', () => {
    expect(inOneLine("a'b\\c\nd")).toBe("$'a\\'b\\\\c\\nd'")
  })

  it('no argument is longer than the kernel takes', () => {
    for (const argument of bootCommand({ alone: true })) expect(Buffer.byteLength(argument)).toBeLessThan(16_384)
  })
})
