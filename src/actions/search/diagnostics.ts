// What the search program says on its error output. `--debug` makes it name each file that it passes over for
// its size or for being binary: the counts cost one line per skipped file, and no second walk.
// A hostile file name with a line break can forge such a line; the one deceived by the count is the guest itself.
export interface SearchDiagnostics {
  push(line: string): void
  readonly skippedLarge: number
  readonly skippedBinary: number
  readonly unreadable: number
  /** The complaint about the caller's own pattern, if that is what stopped the program. */
  readonly complaint: string | undefined
}

const maxComplaintLines = 12
/** Complaints that quote the caller's pattern and nothing else. Others might name a path of the host. */
const aboutPattern = /^(?:regex parse error|error parsing glob|the literal |compiled regex exceeds)/

export function searchDiagnostics(): SearchDiagnostics {
  let skippedLarge = 0
  let skippedBinary = 0
  let unreadable = 0
  const complaint: string[] = []
  let told = false
  const complain = (text: string): void => {
    if (complaint.length > 0 || aboutPattern.test(text)) complaint.push(text)
    else if (text.startsWith('.')) unreadable++
  }
  return {
    push(line) {
      if (line.startsWith('rg: DEBUG|')) {
        if (line.startsWith('rg: DEBUG|ignore::walk|')) skippedLarge += /: \d+ bytes$/.test(line) ? 1 : 0
        else if (line.startsWith('rg: DEBUG|grep_printer::json|'))
          skippedBinary += line.includes(': found binary data') ? 1 : 0
      } else if (line.startsWith('rg: ')) {
        complain(line.slice('rg: '.length))
      } else if (complaint.length > 0 && !told) {
        // After an empty line comes advice about flags, which the caller cannot use.
        told = line.trim() === '' || complaint.push(line) === maxComplaintLines
      }
    },
    get skippedLarge() {
      return skippedLarge
    },
    get skippedBinary() {
      return skippedBinary
    },
    get unreadable() {
      return unreadable
    },
    get complaint() {
      return complaint.length === 0 ? undefined : complaint.join('\n').trim().slice(0, 1000)
    },
  }
}
