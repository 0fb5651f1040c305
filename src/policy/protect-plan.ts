// What must be laid over a writable mount so that its protected names hold, as data. Pure: the caller looks at
// the disk and hands in what it saw. A mechanism that pins by name (seatbelt) needs no plan; one that pins by
// mount does, because a mount needs something to lie on.
import { findBuiltInProtection, type PlaceholderKind } from './protect.ts'

export type SeenEntry = PlaceholderKind | 'symlink' | 'other' | 'missing'

export type ProtectionStep =
  /** An existing directory on the way: bound onto itself, writable. */
  | { readonly do: 'pin'; readonly path: string }
  /** It exists: bound onto itself, read-only. */
  | { readonly do: 'seal'; readonly path: string }
  /** It does not exist: something is put there and sealed, and taken away afterwards. */
  | { readonly do: 'placeholder'; readonly path: string; readonly as: PlaceholderKind; readonly content: string }
  /** A symlink stands on the way. A mount would follow it to wherever it leads, so the mechanism must decide. */
  | { readonly do: 'link'; readonly path: string; readonly name: string }

export interface ProtectionPlanInput {
  /** Normalised names relative to one writable mount. */
  readonly names: readonly string[]
  /** What is at a relative path now. Asked only below directories. */
  readonly entryAt: (path: string) => SeenEntry
}

// SECURITY: the kernel refuses to rename a mount point itself, but lets its parents be renamed; so each existing
// parent is made a mount point too. test/attacks/persistence: "a protected directory cannot be moved aside"
// SECURITY: what is missing is masked at its first missing part: with `.git` absent, masking `.git/hooks` alone is
// impossible and leaving it open plants a hook. test/attacks/persistence: "git hooks and configuration cannot be planted"
function stepsFor(name: string, entryAt: (path: string) => SeenEntry): readonly ProtectionStep[] {
  const segments = name.split('/')
  const steps: ProtectionStep[] = []
  for (let depth = 1; depth <= segments.length; depth += 1) {
    const path = segments.slice(0, depth).join('/')
    const isLast = depth === segments.length
    const seen = entryAt(path)
    if (seen === 'missing') return [...steps, placeholder(path, isLast)]
    if (seen === 'symlink') return [...steps, { do: 'link', path, name }]
    // In a linked worktree `.git` is a file that says where the repository is: whoever replaces it chooses the hooks.
    if (isLast || seen !== 'directory') return [...steps, { do: 'seal', path }]
    steps.push({ do: 'pin', path })
  }
  return steps
}

function placeholder(path: string, isLast: boolean): ProtectionStep {
  if (!isLast) return { do: 'placeholder', path, as: 'directory', content: '' }
  const known = findBuiltInProtection(path)
  return { do: 'placeholder', path, as: known?.kind ?? 'file', content: known?.content ?? '' }
}

const strength = { pin: 0, link: 1, placeholder: 2, seal: 3 } as const satisfies Record<ProtectionStep['do'], number>

function hasClosedAncestor(path: string, steps: ReadonlyMap<string, ProtectionStep>): boolean {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    const above = steps.get(path.slice(0, end))
    if (above !== undefined && above.do !== 'pin') return true
  }
  return false
}

/** Steps in the order in which they must be laid: parents before what is below them, each path once. */
export function planProtection({ names, entryAt }: ProtectionPlanInput): readonly ProtectionStep[] {
  const byPath = new Map<string, ProtectionStep>()
  for (const step of names.flatMap((name) => stepsFor(name, entryAt))) {
    const present = byPath.get(step.path)
    if (present === undefined || strength[step.do] > strength[present.do]) byPath.set(step.path, step)
  }
  return [...byPath.values()]
    .filter((step) => !hasClosedAncestor(step.path, byPath))
    .toSorted((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0))
}
