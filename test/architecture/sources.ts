// The files of the checkout and what they import. Paths are relative to its root, with forward slashes.
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { scan, type Scanned } from './scan.ts'

export const root = fileURLToPath(new URL('../../', import.meta.url))

export interface SourceFile extends Scanned {
  readonly path: string
  readonly text: string
  readonly isTest: boolean
}

export type ImportKind = 'static' | 'type' | 'dynamic'

export interface Import {
  readonly kind: ImportKind
  /** As written, for packages; relative to the root, for files of the checkout. */
  readonly target: string
}

const skipped = new Set(['node_modules', 'dist', '.cache', '.git', 'coverage'])

export function listFiles(...directories: readonly string[]): readonly string[] {
  return directories
    .flatMap((directory) =>
      readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(root, join(entry.parentPath, entry.name))),
    )
    .filter((path) => !path.split('/').some((part) => skipped.has(part)))
    .toSorted()
}

export function readSources(...directories: readonly string[]): readonly SourceFile[] {
  return listFiles(...directories)
    .filter((path) => /\.[cm]?ts$/.test(path))
    .map((path) => {
      const text = readFileSync(join(root, path), 'utf8')
      // `.test-support.ts` is what only tests import.
      return { path, text, isTest: /\.test(?:-support)?\.ts$/.test(path), ...scan(text) }
    })
}

export function importsOf(file: SourceFile): readonly Import[] {
  const named = [...file.code.matchAll(/\b(import|export)(\s+type\b)?(?:[^«»;()]*?\bfrom)?\s*«(\d+)»/g)].map(
    ([, , type, index]): Import => ({ kind: type === undefined ? 'static' : 'type', target: text(file, index) }),
  )
  const called = [...file.code.matchAll(/\bimport\(\s*«(\d+)»/g)].map(([, index]): Import => ({
    kind: 'dynamic',
    target: text(file, index),
  }))
  return [...named, ...called].map(({ kind, target }) => ({ kind, target: locate(file.path, target) }))
}

const text = (file: SourceFile, index: string | undefined): string => file.strings[Number(index)] ?? ''

function locate(from: string, target: string): string {
  return target.startsWith('.') ? relative(root, resolve(root, dirname(from), target)) : target
}

/** Everything that is loaded when `start` is: files and packages, without types and without lazy imports. */
export function staticClosure(files: readonly SourceFile[], start: string): ReadonlyMap<string, string> {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const loadedBy = new Map<string, string>([[start, '']])
  const waiting = [start]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const file = byPath.get(path)
    if (file === undefined) continue
    for (const { kind, target } of importsOf(file)) {
      if (kind !== 'static' || loadedBy.has(target)) continue
      loadedBy.set(target, path)
      waiting.push(target)
    }
  }
  return loadedBy
}

/** The chain by which a file came to be loaded, for the one who has to break it. */
export function chainTo(loadedBy: ReadonlyMap<string, string>, target: string): string {
  const chain = [target]
  for (let by = loadedBy.get(target); by !== undefined && by !== ''; by = loadedBy.get(by)) chain.unshift(by)
  return chain.join(' → ')
}
