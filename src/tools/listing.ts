// Results of ls, glob and grep as a model reads them best: a line that counts, then one line per finding.
import { cutEnd } from './cut.ts'
import { plainName, plainOutput } from './printable.ts'
import type { GlobShown, GrepShown, ListShown } from './results.ts'

const maxListCharacters = 20_000
const maxSearchCharacters = 50_000

const truncatedLine = 'Results truncated. Narrow the path or pattern to see fewer matches.'

export function listText(listed: ListShown): string {
  const lines = listed.entries.map((entry) => entryLine(listed.path, entry))
  if (listed.truncated) lines.push('Listing truncated. List a directory below to see the rest.')
  for (const path of listed.unreadable) lines.push(`Cannot list ${plainName(path)}`)
  if (lines.length === 0) return '(empty)'
  return cutEnd(lines.join('\n'), maxListCharacters, '… cut here. List a directory below to see the rest.')
}

function entryLine(root: string, entry: ListShown['entries'][number]): string {
  const prefix = root === '/' ? '/' : `${root}/`
  const name = plainName(entry.path.startsWith(prefix) ? entry.path.slice(prefix.length) : entry.path)
  if (entry.kind === 'directory') return `${name}/`
  if (entry.kind === 'symlink') return `${name} -> ${plainName(entry.target ?? '?')}`
  return entry.kind === 'file' ? `${name} (${entry.sizeBytes} bytes)` : `${name} (special file)`
}

export function globText(found: GlobShown): string {
  if (found.paths.length === 0) {
    return `No paths found under ${found.path}. The pattern is relative to it; ** goes through directories, as in **/*.py.`
  }
  const head = `Found ${counted(found.paths.length, 'path')} under ${found.path}`
  const lines = found.paths.map((path, index) => `${index + 1}. ${plainName(path)}`)
  return searchText(head, lines, found.truncated ? [truncatedLine] : [])
}

export function grepOutput(found: GrepShown): string {
  const notes = [...(found.truncated ? [truncatedLine] : []), ...skippedLine(found)]
  if (found.matches.length === 0) return [`No matches found under ${found.path}`, ...notes].join('\n')
  const head = `Found ${counted(found.matches.length, 'match', 'matches')} under ${found.path}`
  const lines = found.matches.map((match) => `${plainName(match.path)}:${match.line}: ${plainOutput(match.text)}`)
  return searchText(head, lines, notes)
}

function skippedLine(found: GrepShown): readonly string[] {
  const parts = [
    ...(found.skippedLargeFiles > 0 ? [`${counted(found.skippedLargeFiles, 'file')} over 1 MB`] : []),
    ...(found.skippedBinaryFiles > 0 ? [counted(found.skippedBinaryFiles, 'binary file')] : []),
    ...(found.unreadableFiles > 0 ? [`${counted(found.unreadableFiles, 'file')} that cannot be read`] : []),
  ]
  return parts.length === 0 ? [] : [`Skipped: ${parts.join(', ')}.`]
}

/** Notes come last and are never cut away. */
function searchText(head: string, lines: readonly string[], notes: readonly string[]): string {
  const end = notes.map((note) => `\n${note}`).join('')
  const body = cutEnd(
    [head, ...lines].join('\n'),
    maxSearchCharacters - end.length,
    '… cut here. Narrow the path or pattern.',
  )
  return `${body}${end}`
}

const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
