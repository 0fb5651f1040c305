// What is written to a container of one command that has ways of its own. Nobody speaks to such a container, so its first process
// looks by itself at what it sees, before it has a variable or a word of the caller's.
import { exportsOf, mark, onceMark, steps, type Command } from './keeper.ts'
import { elsewhere, sight } from './sight.ts'

export function onceLines(
  env: Readonly<Record<string, string>>,
  request: Command,
  inodes: ReadonlyMap<string, bigint>,
): string {
  const refuse = (): string => `{ echo "$${mark} ${elsewhere}" >&8; exit 125; }`
  return `${onceMark}\n${[...sight(inodes, refuse), ...exportsOf(env)].join('; ')}\n${steps(request)}\n`
}
