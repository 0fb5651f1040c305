// Judges what commands wrote into the one file of their sandbox. A command's lines bear its name, and its name the server's pid; the
// order of the lines is the order in time, whoever wrote them.

interface Command {
  readonly server: string
  readonly first: number
  last: number
  lines: number
  hasEnded: boolean
}

/** `c3n7p1234 begin`: caller, count, pid of the server. */
const line = /^(c\d+n\d+p(\d+)) (begin|end|\d+)$/

export function judgeJournal(text: string, answered: readonly string[]): readonly string[] {
  const commands = new Map<string, Command>()
  const faults: string[] = []
  for (const [index, each] of text.split('\n').slice(0, -1).entries()) {
    const [, name = '', server = '', what] = line.exec(each) ?? []
    if (name === '') {
      faults.push(`line ${index} is damaged: ${JSON.stringify(each)}`)
      continue
    }
    const known = commands.get(name) ?? { server, first: index, last: index, lines: 0, hasEnded: false }
    commands.set(name, known)
    known.last = index
    known.lines += 1
    known.hasEnded ||= what === 'end'
  }
  for (const name of answered)
    if (commands.get(name)?.hasEnded !== true) faults.push(`${name} was answered, and its last line is not there`)
  return [...faults, ...overlaps([...commands])]
}

/** Two commands of one server may run at a time. Two servers never use one sandbox at a time. */
function overlaps(commands: readonly (readonly [string, Command])[]): readonly string[] {
  const sorted = commands.toSorted(([, one], [, other]) => one.first - other.first)
  return sorted.flatMap(([name, one], index) =>
    sorted
      .slice(index + 1)
      .filter(([, other]) => other.server !== one.server && other.first < one.last)
      .map(([other]) => `${name} wrote on after ${other} of another server had begun`),
  )
}
