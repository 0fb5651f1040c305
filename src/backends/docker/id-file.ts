// The id of a container, as docker writes it down for us: as soon as it is made, and before it is started.
import { readFileSync, unlinkSync } from 'node:fs'

export interface IdFile {
  /** Docker refuses to begin where it is there already. */
  readonly path: string
  /** Undefined where it has not been written yet, or cannot be read now. */
  id(): string | undefined
  /** Nothing more will be written. What is known by then stays known, also when the directory is gone. */
  close(): void
}

export function openIdFile(path: string): IdFile {
  let known: string | undefined
  const id = (): string | undefined => (known ??= idWrittenAt(path))
  return {
    path,
    id,
    close() {
      // Without descriptors, for one: it is read later.
      if (id() === undefined) return
      try {
        unlinkSync(path)
      } catch {
        // It goes with its directory.
      }
    },
  }
}

/** Undefined also where it is half written. */
export function idWrittenAt(path: string): string | undefined {
  try {
    return /^[0-9a-f]{64}$/.exec(readFileSync(path, 'utf8').trim())?.[0]
  } catch {
    return undefined
  }
}
