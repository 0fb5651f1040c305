// What one look found different, path by path. A path that is met twice, because the guest is at work meanwhile, counts once:
// from what it was before the look to what it was last.
import type { Change } from '../../contract/recorded-action.ts'
import { shownPath, type Facts } from './tree.ts'

export interface Difference {
  readonly before: Facts | undefined
  readonly after: Facts | undefined
  /** The inode or its ctime is another, so that contents that were not hashed may be others too. */
  readonly isTouched: boolean
}

export class Differences {
  readonly #byPath = new Map<string, Difference>()

  note(pathKey: string, before: Facts | undefined, after: Facts | undefined, isTouched: boolean): void {
    const earlier = this.#byPath.get(pathKey)
    if (earlier === undefined) this.#byPath.set(pathKey, { before, after, isTouched })
    else this.#byPath.set(pathKey, { before: earlier.before, after, isTouched: true })
  }

  /** Everything that was noted, sorted by path, a directory before what is in it. */
  all(): readonly (readonly [pathKey: string, difference: Difference])[] {
    return [...this.#byPath].toSorted(([a], [b]) => (a < b ? -1 : 1))
  }

  changes(): Change[] {
    return this.all().flatMap(([pathKey, difference]) => changeOf(pathKey, difference) ?? [])
  }
}

function changeOf(pathKey: string, { before, after, isTouched }: Difference): Change | undefined {
  const shown = after ?? before
  if (shown === undefined) return undefined
  if (before !== undefined && after !== undefined && !isOther(before, after, isTouched)) return undefined
  return {
    ...shownPath(pathKey),
    change: before === undefined ? 'created' : after === undefined ? 'deleted' : 'changed',
    kind: shown.kind,
    before_sha256: before?.sha256 ?? null,
    after_sha256: after?.sha256 ?? null,
    size: shown.size,
    mode: shown.mode,
    target: shown.target,
    kept: after?.kept ?? false,
  }
}

const isOther = (before: Facts, after: Facts, isTouched: boolean): boolean =>
  before.kind !== after.kind ||
  before.mode !== after.mode ||
  before.size !== after.size ||
  before.sha256 !== after.sha256 ||
  before.target !== after.target ||
  (after.kind === 'file' && after.sha256 === null && isTouched)
