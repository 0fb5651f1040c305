// Which required deliverables count. Judged by the manifest, so that what was judged is what was hashed: a file that is
// swapped afterwards no longer has its hash.
import type { Artifact, ArtifactManifest, DeliverableProblem, DeliverableReason } from '../contract/artifact.ts'
import type { Deliverable } from '../contract/run.ts'

const guestRoot = '/deliverables/'

/** The names below deliverables/, or undefined when the path lies elsewhere. */
export function deliverableNames(path: string): readonly string[] | undefined {
  const below = path.startsWith(guestRoot)
    ? path.slice(guestRoot.length)
    : path.startsWith('deliverables/')
      ? path.slice('deliverables/'.length)
      : path
  if (below.startsWith('/') || below.includes('\0')) return undefined
  const names: string[] = []
  for (const name of below.split('/')) {
    if (name === '..' && names.pop() === undefined) return undefined
    if (name !== '' && name !== '.' && name !== '..') names.push(name)
  }
  return names.length === 0 ? undefined : names
}

export function checkDeliverables(
  required: readonly Deliverable[],
  manifest: ArtifactManifest,
): readonly DeliverableProblem[] {
  const found = new Map(manifest.entries.map((entry) => [entry.path, entry]))
  return required.flatMap((rule) => {
    const reason = reasonAgainst(rule, found)
    return reason === undefined ? [] : [{ path: rule.path, reason }]
  })
}

function reasonAgainst(rule: Deliverable, found: ReadonlyMap<string, Artifact>): DeliverableReason | undefined {
  const names = deliverableNames(rule.path)
  if (names === undefined) return 'deliverable_outside'
  const path = ['deliverables', ...names].join('/')
  // A link on the way, or at the end: what it leads to was not hashed, and may lie anywhere.
  const isLinked = names.some(
    (_, index) => found.get(['deliverables', ...names.slice(0, index + 1)].join('/'))?.kind === 'symlink',
  )
  if (isLinked) return 'deliverable_symlink'
  const entry = found.get(path)
  if (entry === undefined) return lyingElsewhere(names, found) ? 'deliverable_outside' : 'deliverable_missing'
  if (entry.kind !== 'file') return 'deliverable_not_a_file'
  return entry.size === 0 && !rule.allow_empty ? 'deliverable_empty' : undefined
}

/** It was made, but in the workspace. Says more to the one who has to find it than "missing" does. */
const lyingElsewhere = (names: readonly string[], found: ReadonlyMap<string, Artifact>): boolean =>
  found.get(['workspace', ...names].join('/'))?.kind === 'file'
