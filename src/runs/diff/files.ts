// From pairs of entries to a diff that reads well: renames are found by equal contents, a directory is left out where what is
// in it says the same, and contents are compared where both sides were kept.
import type { TreeEntry } from '../../contract/recorded-action.ts'
import type { ContentDiff, FileDiff, Side } from './model.ts'
import type { Pair, Pairs } from './pairs.ts'
import { compareTexts, textIn } from './text.ts'

/** The bytes of a content, if they were kept. */
export type Contents = (sha256: string) => Uint8Array | undefined

export async function fileDiffs(pairs: Pairs, contents: Contents): Promise<readonly FileDiff[]> {
  const found = withRenames([...pairs.values()])
  const isImplied = impliedIn(found)
  const files: FileDiff[] = []
  for (const { before, after, isRename } of found.filter((pair) => !isImplied(pair))) {
    files.push({
      change: isRename ? 'renamed' : before === undefined ? 'created' : after === undefined ? 'deleted' : 'changed',
      before: sideOf(before),
      after: sideOf(after),
      content: await contentDiff(before, after, contents),
    })
  }
  return files.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
}

const placeOf = ({ before, after }: FileDiff): string => (after ?? before)?.path ?? ''

interface Move extends Pair {
  readonly isRename: boolean
}

/** A file that is gone and one that came with the same content are one file with another name. */
function withRenames(pairs: readonly Pair[]): readonly Move[] {
  const gone = new Map<string, Pair[]>()
  for (const pair of pairs) {
    if (pair.after !== undefined || !canMove(pair.before)) continue
    const key = `${pair.before.kind} ${pair.before.sha256}`
    gone.set(key, [...(gone.get(key) ?? []), pair])
  }
  const moved = new Set<Pair>()
  const moves = pairs.map((pair): Move => {
    if (pair.before !== undefined || !canMove(pair.after)) return { ...pair, isRename: false }
    const candidates = (gone.get(`${pair.after.kind} ${pair.after.sha256}`) ?? []).filter((each) => !moved.has(each))
    const name = lastName(pair.after.path)
    const from =
      candidates.find(({ before }) => before !== undefined && lastName(before.path) === name) ?? candidates[0]
    if (from === undefined) return { ...pair, isRename: false }
    moved.add(from)
    return { before: from.before, after: pair.after, isRename: true }
  })
  return moves.filter((_, index) => !moved.has(pairs[index] as Pair))
}

/** Empty files are all alike, and that says nothing. */
const canMove = (entry: TreeEntry | undefined): entry is TreeEntry =>
  entry !== undefined &&
  (entry.kind === 'file' || entry.kind === 'symlink') &&
  entry.sha256 !== null &&
  entry.size !== 0

const lastName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** That a directory came or went is plain from a file that came into it or went with it. */
function impliedIn(pairs: readonly Pair[]): (pair: Pair) => boolean {
  const above = (which: 'before' | 'after'): ReadonlySet<string> =>
    new Set(pairs.flatMap((pair) => parentsOf(pair[which])))
  const [left, entered] = [above('before'), above('after')]
  return ({ before, after }) => {
    if ((before === undefined) === (after === undefined)) return false
    const directory = after ?? before
    if (directory?.kind !== 'directory') return false
    return (after === undefined ? left : entered).has(directory.path)
  }
}

function parentsOf(entry: TreeEntry | undefined): readonly string[] {
  const parents: string[] = []
  const path = entry?.path ?? ''
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) parents.push(path.slice(0, at))
  return parents
}

const sideOf = (entry: TreeEntry | undefined): Side | null =>
  entry === undefined
    ? null
    : {
        path: entry.path,
        kind: entry.kind,
        size: entry.size,
        mode: entry.mode,
        sha256: entry.sha256,
        target: entry.target,
      }

async function contentDiff(
  before: TreeEntry | undefined,
  after: TreeEntry | undefined,
  contents: Contents,
): Promise<ContentDiff> {
  const [old, now] = [fileIn(before), fileIn(after)]
  if (old === undefined && now === undefined) return { kind: 'same' }
  if (old?.sha256 === now?.sha256 && typeof old?.sha256 === 'string') return { kind: 'same' }
  const [oldBytes, newBytes] = [bytesOf(old, contents), bytesOf(now, contents)]
  if (oldBytes === undefined || newBytes === undefined) return { kind: 'unknown' }
  const [oldText, newText] = [textIn(oldBytes), textIn(newBytes)]
  return oldText === undefined || newText === undefined ? { kind: 'binary' } : compareTexts(oldText, newText)
}

const fileIn = (entry: TreeEntry | undefined): TreeEntry | undefined => (entry?.kind === 'file' ? entry : undefined)

/** Of no file: no bytes. */
function bytesOf(file: TreeEntry | undefined, contents: Contents): Uint8Array | undefined {
  if (file === undefined || file.size === 0) return new Uint8Array()
  return file.sha256 === null ? undefined : contents(file.sha256)
}
