// The files that two runs left, beside each other: first by their manifests, and where contents differ, byte by byte.
import type { Artifact, ArtifactManifest } from '../../../contract/artifact.ts'
import { placeAt } from '../../../executors/replay/bytes.ts'
import { likelyCause, type Seen } from '../../../executors/replay/cause.ts'
import type { Difference, Result } from '../../../executors/replay/report.ts'
import { isGloveboxError } from '../../../errors/error.ts'
import { openArtifact } from '../../../runs/artifact-file.ts'
import { differenceBetween } from './streams.ts'

export interface ArtifactComparison {
  /** As the manifests spell it. */
  readonly path: string
  readonly kind: Artifact['kind']
  readonly result: Exclude<Result, 'not_repeated'>
  readonly reason: string | null
  readonly differences: readonly Difference[]
}

/** One of the two runs, and the time in which its files were made. */
export interface Tree {
  readonly directory: string
  readonly manifest: ArtifactManifest
  readonly fromMs: number
  readonly toMs: number
}

export interface ComparedTrees {
  readonly artifacts: readonly ArtifactComparison[]
  /** Why nothing can be said of what is not listed; empty when both manifests are complete. */
  readonly doubts: readonly string[]
}

export async function compareArtifacts(original: Tree, replayed: Tree, seen: Seen): Promise<ComparedTrees> {
  const now = new Map(replayed.manifest.entries.map((entry) => [keyOf(entry), entry]))
  const then = new Set(original.manifest.entries.map(keyOf))
  const artifacts: ArtifactComparison[] = []
  for (const entry of original.manifest.entries) {
    const other = now.get(keyOf(entry))
    artifacts.push(
      other === undefined
        ? absent(entry, 'it was there then, and is not now')
        : await compareEntry(entry, other, { original, replayed, seen }),
    )
  }
  for (const entry of replayed.manifest.entries) {
    if (!then.has(keyOf(entry))) artifacts.push(absent(entry, 'it was not there then, and is now'))
  }
  return { artifacts, doubts: [...doubtsOf(original, 'original'), ...doubtsOf(replayed, 'replay')] }
}

/** Names that are no UTF-8 look alike as text, and are not. */
const keyOf = ({ path, path_base64: bytes }: Artifact): string => bytes ?? `=${path}`

const doubtsOf = ({ manifest }: Tree, whose: string): readonly string[] =>
  manifest.complete ? [] : [`the artifact manifest of the ${whose} is not complete (${manifest.stopped.join(', ')})`]

const told = (part: Difference['part'], detail: string): Difference => ({ part, place: null, detail, cause: null })

const absent = ({ path, kind }: Artifact, detail: string): ArtifactComparison => ({
  path,
  kind,
  result: 'differs',
  reason: null,
  differences: [told('presence', detail)],
})

interface Both {
  readonly original: Tree
  readonly replayed: Tree
  readonly seen: Seen
}

async function compareEntry(then: Artifact, now: Artifact, both: Both): Promise<ArtifactComparison> {
  const plain = { path: then.path, kind: then.kind, reason: null }
  if (then.kind !== now.kind) {
    return { ...plain, result: 'differs', differences: [told('kind', `${then.kind} then, ${now.kind} now`)] }
  }
  const differences = [...modeDifference(then, now), ...targetDifference(then, now)]
  if (then.kind !== 'file') return { ...plain, result: resultOf(differences), differences }
  if (then.sha256 === null || now.sha256 === null) {
    const reason = `its content was not hashed (${then.skipped ?? now.skipped ?? 'unknown'})`
    return { ...plain, reason, result: differences.length === 0 ? 'not_comparable' : 'differs', differences }
  }
  if (then.sha256 !== now.sha256) differences.push(await contentDifference(then, both))
  return { ...plain, result: resultOf(differences), differences }
}

const resultOf = (differences: readonly Difference[]): 'identical' | 'differs' =>
  differences.length === 0 ? 'identical' : 'differs'

const octal = (mode: number): string => `0${mode.toString(8)}`

const modeDifference = (then: Artifact, now: Artifact): readonly Difference[] =>
  then.mode === now.mode ? [] : [told('mode', `${octal(then.mode)} then, ${octal(now.mode)} now`)]

const targetDifference = (then: Artifact, now: Artifact): readonly Difference[] =>
  then.target === now.target ? [] : [told('target', 'the link points elsewhere')]

async function contentDifference({ path, path_base64: bytes }: Artifact, both: Both): Promise<Difference> {
  if (bytes !== null) return told('content', 'its hash is another')
  try {
    return await firstDifferenceIn(path, both)
  } catch (error) {
    // In a fork the file may lie in a layer below the run; or somebody has changed it since the manifest was made.
    if (!isGloveboxError(error)) throw error
    return told('content', 'its hash is another, and its bytes do not lie in the run itself')
  }
}

async function firstDifferenceIn(path: string, { original, replayed, seen }: Both): Promise<Difference> {
  const then = openArtifact(original.directory, path)
  try {
    const now = openArtifact(replayed.directory, path)
    try {
      const found = await differenceBetween(then.bytes(), now.bytes())
      if (found === undefined) return told('content', 'its hash is another')
      const evidence = {
        offset: found.at,
        original: { bytes: found.original, fromMs: original.fromMs, toMs: original.toMs },
        replayed: { bytes: found.replayed, fromMs: replayed.fromMs, toMs: replayed.toMs },
        command: '',
        notSupplied: [],
      }
      const place = { ...placeAt(found.at, found.original, found.replayed), offset: found.offset }
      const cause = likelyCause(evidence, seen, path)
      return { part: 'content', place, detail: `differs at byte ${found.offset}`, cause }
    } finally {
      now.close()
    }
  } finally {
    then.close()
  }
}
